"""German words of requests."""

from __future__ import annotations

from typing import Final

from helmdeck_language.languages.language import Language, by_english, phrases, word_set

GERMAN: Final = Language(
    code="de",
    verbs=by_english(
        """
        read: lies lese lesen vorlesen ausgelesen gelesen
        show: zeige zeig zeigen anzeigen zeigst zeigt
        list: liste auflisten listen aufliste
        search: suche such suchen durchsuche durchsuchen recherchiere recherchieren
        find: finde find finden findest
        send: sende send senden schicke schick schicken verschicke verschicken versende versenden mailen maile
        post: poste posten
        publish: veröffentliche veröffentlichen publiziere
        create: erstelle erstell erstellen erzeuge erzeugen anlegen lege eröffne eröffnen
        delete: lösche lösch löschen lösche entferne entfernen
        cancel: storniere stornier stornieren
        write: schreibe schreib schreiben verfasse verfassen
        open: öffne öffnen
        close: schließe schließ schließen
        move: verschiebe verschieben bewege bewegen
        rename: benenne umbenennen
        copy: kopiere kopieren
        save: speichere speichern sichere
        translate: übersetze übersetz übersetzen
        summarize: fasse zusammenfassen zusammenfasse
        describe: beschreibe beschreib beschreiben
        calculate: berechne berechnen rechne ausrechnen
        convert: konvertiere konvertieren wandle umwandeln umrechnen
        book: buche buch buchen reserviere reservieren
        get: hole hol holen gib gebe geben rufe abrufen ermittle nenne sag sage
        fetch: lade laden herunterladen
        set: stelle stell stellen setze setzen
        start: starte starten
        stop: stoppe stoppen beende beenden
        run: führe ausführen führ
        add: füge hinzufügen ergänze ergänzen trage eintragen
        change: ändere ändern
        edit: bearbeite bearbeiten
        update: aktualisiere aktualisieren
        check: prüfe prüf prüfen überprüfe überprüfen
        compare: vergleiche vergleichen
        remember: merke merk merken
        remind: erinnere erinnern
        draw: zeichne zeichnen male malen
        generate: generiere generieren
        track: verfolge verfolgen
        reply: antworte antworten
        merge: führe-zusammen mergen merge
        commit: committe committen commite übernimm
        upload: hochladen
        pay: bezahle bezahlen zahle
        buy: kaufe kaufen bestelle bestellen
        call: ruf anrufen
        navigate: navigiere navigieren gehe geh gehen
        click: klicke klick klicken
        take: nimm mache mach machen
        transcribe: transkribiere transkribieren
        schedule: plane planen vereinbare vereinbaren
        count: zähle zählen
        sort: sortiere sortieren
        explain: erkläre erklären
        """
    ),
    words=by_english(
        """
        file: datei dateien
        directory: verzeichnis verzeichnisse ordner ordners
        web: web internet netz
        email: e-mail email mail mails e-mails
        message: nachricht nachrichten
        channel: kanal kanäle kanälen
        user: benutzer nutzer
        weather: wetter wetterbericht
        forecast: vorhersage wettervorhersage
        flight: flug flüge flügen
        hotel: hotel hotels
        room: zimmer
        task: aufgabe aufgaben
        event: termin termine terminen ereignis
        calendar: kalender
        timer: timer
        table: tabelle tabellen
        query: abfrage abfragen
        database: datenbank datenbanken
        page: seite seiten webseite
        status: status
        log: log protokoll
        branch: branch zweig zweige
        changes: änderungen änderung
        commit: commit commits
        issue: ticket tickets problem
        repository: repository repositories repo projekt
        graph: graph graphen
        entity: entität entitäten
        order: bestellung bestellungen
        shipment: sendung sendungen paket
        product: produkt produkte produkten
        price: preis preise
        currency: währung
        image: bild bilder illustration
        screenshot: bildschirmfoto screenshot
        article: artikel beitrag
        note: notiz notizen
        text: text
        sum: summe
        time: zeit uhrzeit spät
        contact: kontakt kontakte
        restaurant: restaurant restaurants
        route: route weg
        news: nachrichten neuigkeiten
        video: video videos
        podcast: podcast
        result: ergebnis ergebnisse
        open: offenen offene
        closed: geschlossenen geschlossene
        document: dokument dokumente
        minutes: minuten minute
        seconds: sekunden sekunde
        hours: stunden stunde
        days: tage tagen tag
        reset: zurück
        library: bibliothek
        map: karte
        place: ort orte
        city: stadt
        """
    ),
    prepositions=by_english(
        """
        in: in im ins
        at: bei am
        on: auf
        of: von vom des
        for: für nach
        to: zu zum zur an
        from: aus
        about: über
        with: mit
        near: nahe
        between: zwischen
        until: bis
        under: unter
        """
    ),
    function_words=word_set(
        """
        der die das den dem des und ist sind ein eine einen einem einer mir mich mein meine meinen nach von vom zu zum
        zur mit für im ich du wie was wo wann bitte nicht kein keine aber oder auf es über alle wer welche welches
        """
    ),
    determiners=word_set(
        """
        der die das den dem des ein eine einen einem einer eines mein meine meinen meiner meinem mir mich uns alle
        jede jeden jedes diese dieses diesen dieser es sie ihn
        """
    ),
    lead_ins=word_set(
        "bitte dann danach anschließend zuerst erst jetzt nun nur lieber stattdessen und oder aber sondern auch "
        "schließlich zuletzt mal einfach sofort hallo danke"
    ),
    lead_in_phrases=phrases(
        "kannst du|könntest du|können sie|könnten sie|würdest du|ich möchte|ich will|ich brauche|kannst du bitte|vergiss nicht"
    ),
    joints=word_set("und oder aber sondern sowie"),
    strong_joints=word_set("dann danach anschließend aber sondern"),
    references=word_set("es sie ihn das dies diese diesen dieses daran dort"),
    questions=word_set("was wie wo wann wer welche welcher welches welchen wieviel warum ist sind gibt"),
    negators=phrases(
        "nicht|nie|niemals|kein|keine|keinen|keinem|keiner|ohne|statt|anstatt|anstelle|außer|vermeide|bloß nicht|auf keinen fall"
    ),
    free_negators=word_set("nicht nichts nie niemals kein keine keinen keinem keiner keines niemand niemandem"),
    positive=phrases("vergiss nicht|nicht nur|nicht vergessen"),
    exclusions=phrases("statt|anstatt|anstelle|außer|aber nicht|und nicht|ausgenommen"),
    action_exclusions=word_set("ohne"),
    action_endings=("en", "ern", "eln"),
    naming=word_set("namens genannt titel namen"),
    nothing=word_set("etwas irgendetwas nichts"),
)
