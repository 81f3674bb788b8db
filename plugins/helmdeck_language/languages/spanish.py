"""Spanish words of requests."""

from __future__ import annotations

from typing import Final

from helmdeck_language.languages.language import Language, by_english, phrases, word_set

SPANISH: Final = Language(
    code="es",
    verbs=by_english(
        """
        read: lee leer lea leas
        show: muestra mostrar muéstrame muestre enseña enséñame muestres
        list: lista listar liste listes enumera
        search: busca buscar busque búscame busques
        find: encuentra encontrar encuentre
        send: envía enviar envíe envíes manda mandar mande mandes
        post: postea postear
        publish: publica publicar publique publiques
        create: crea crear cree crees
        delete: borra borrar borre borres elimina eliminar elimine elimines suprime
        cancel: cancela cancelar cancele canceles anula anular
        write: escribe escribir escriba escribas redacta redactar
        open: abre abrir abra abras
        close: cierra cerrar cierre cierres
        move: mueve mover mueva muevas
        rename: renombra renombrar
        copy: copia copiar
        save: guarda guardar guarde guardes
        translate: traduce traducir traduzca
        summarize: resume resumir resuma
        describe: describe describir describa
        calculate: calcula calcular calcule
        convert: convierte convertir convierta
        book: reserva reservar reserve reserves
        get: dame dar da obtén obtener dime decir
        fetch: descarga descargar
        set: pon poner ajusta ajustar
        start: inicia iniciar arranca
        stop: para detén detener
        run: ejecuta ejecutar ejecute ejecutes
        add: añade añadir agrega agregar
        change: cambia cambiar cambies modifica modificar modifiques
        edit: edita editar edites
        update: actualiza actualizar actualices
        check: comprueba comprobar verifica verificar revisa
        compare: compara comparar
        remember: recuerda recordar
        draw: dibuja dibujar
        generate: genera generar
        track: rastrea rastrear sigue
        reply: responde responder
        merge: fusiona fusionar fusiones
        commit: confirma confirmar
        pay: paga pagar
        buy: compra comprar compres pide pedir
        call: llama llamar
        navigate: ve ir visita navega
        click: pulsa haz hacer
        take: toma tomar
        schedule: programa programar
        count: cuenta contar
        explain: explica explicar
        """
    ),
    words=by_english(
        """
        file: archivo archivos fichero ficheros
        directory: directorio directorios carpeta carpetas
        web: web internet
        email: correo correos e-mail email
        message: mensaje mensajes
        channel: canal canales
        user: usuario usuarios
        weather: tiempo clima
        forecast: pronóstico previsión
        flight: vuelo vuelos
        hotel: hotel hoteles
        room: habitación
        task: tarea tareas
        event: evento eventos cita citas
        calendar: calendario agenda
        timer: temporizador
        table: tabla tablas
        query: consulta consultas
        database: base datos
        page: página páginas
        status: estado
        log: registro historial
        branch: rama ramas
        changes: cambios
        issue: incidencia incidencias issue issues
        repository: repositorio repositorios
        graph: grafo
        entity: entidad entidades
        order: pedido pedidos
        shipment: envío paquete
        product: producto productos
        price: precio precios
        currency: moneda
        image: imagen imágenes ilustración
        screenshot: captura
        article: artículo artículos
        note: nota notas
        text: texto
        sum: suma
        time: hora
        contact: contacto contactos
        restaurant: restaurante restaurantes
        route: ruta
        news: noticias
        video: vídeo vídeos
        result: resultado resultados
        open: abiertos abiertas abierto abierta
        closed: cerrados cerradas cerrado cerrada
        document: documento documentos
        minutes: minutos minuto
        seconds: segundos segundo
        hours: horas
        days: días día
        place: lugar lugares
        city: ciudad
        """
    ),
    prepositions=by_english(
        """
        in: en
        of: de del
        for: para
        to: a al hasta hacia
        about: sobre acerca
        with: con
        near: cerca
        from: desde
        between: entre
        under: bajo
        """
    ),
    function_words=word_set(
        """
        el la los las un una unos unas de del y es son mi mis me que qué cuál cuáles en para por con sobre yo tú se no
        pero o este esta estos al a sin todos todas nada ningún ninguna hace cómo dónde
        """
    ),
    determiners=word_set(
        "el la los las un una unos unas mi mis tu tus este esta estos estas ese esa todos todas cada me nos lo ningún ninguna"
    ),
    lead_ins=word_set(
        "luego después entonces primero ahora solo sólo y o pero también finalmente hola gracias mejor simplemente e"
    ),
    lead_in_phrases=phrases(
        "por favor|puedes|podrías|puede|podría|quiero|necesito|me gustaría|quisiera|no olvides|no te olvides de"
    ),
    joints=word_set("y e o u pero"),
    strong_joints=word_set("luego después pero entonces"),
    references=word_set("lo la los las eso esto ello allí"),
    questions=word_set("qué que cuál cuáles quién dónde cuándo cómo cuánto cuántos cuántas por-qué es hay"),
    negators=phrases("no|nunca|jamás|tampoco|sin|en lugar de|en vez de|excepto|salvo|evita|evite|ni"),
    positive=phrases("no olvides|no te olvides|no solo|no sólo"),
    exclusions=phrases("en lugar de|en vez de|excepto|salvo|pero no|y no|y nunca"),
    action_exclusions=word_set("sin"),
    action_endings=("ar", "er", "ir", "arlo", "erlo", "irlo", "arla", "erla", "irla"),
    naming=word_set("llamado llamada titulado titulada nombre título diciendo"),
    nothing=word_set("nada ningún ninguna ninguno nadie"),
)
