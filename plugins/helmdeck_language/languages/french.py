"""French words of requests."""

from __future__ import annotations

from typing import Final

from helmdeck_language.languages.language import Language, by_english, phrases, word_set

FRENCH: Final = Language(
    code="fr",
    verbs=by_english(
        """
        read: lis lire lisez
        show: affiche afficher affichez montre montrer montrez
        list: liste lister listez énumère
        search: cherche chercher cherchez recherche rechercher recherchez
        find: trouve trouver trouvez
        send: envoie envoyer envoyez
        post: poste poster postez
        publish: publie publier publiez
        create: crée créer créez
        delete: supprime supprimer supprimez efface effacer effacez
        cancel: annule annuler annulez
        write: écris écrire écrivez rédige rédiger rédigez
        open: ouvre ouvrir ouvrez
        close: ferme fermer fermez
        move: déplace déplacer déplacez
        rename: renomme renommer renommez
        copy: copie copier copiez
        save: enregistre enregistrer sauvegarde sauvegarder
        translate: traduis traduire traduisez
        summarize: résume résumer résumez
        describe: décris décrire décrivez
        calculate: calcule calculer calculez
        convert: convertis convertir convertissez
        book: réserve réserver réservez
        get: donne donner donnez obtiens obtenir dis
        fetch: récupère récupérer télécharge télécharger
        set: règle régler mets mettre mettez
        start: démarre démarrer lance lancer
        stop: arrête arrêter
        run: exécute exécuter exécutez
        add: ajoute ajouter ajoutez
        change: change changer modifie modifier modifiez
        edit: édite éditer
        update: actualise actualiser
        check: vérifie vérifier vérifiez
        compare: compare comparer comparez
        remember: retiens retenir mémorise mémoriser
        remind: rappelle rappeler
        draw: dessine dessiner dessinez
        generate: génère générer générez
        track: suis suivre suivez
        reply: réponds répondre
        merge: fusionne fusionner
        commit: valide valider committe
        pay: paie payer
        buy: achète acheter commande commander
        call: appelle appeler
        navigate: va aller visite visiter
        click: clique cliquer
        take: prends prendre fais faire
        schedule: planifie planifier
        count: compte compter
        explain: explique expliquer
        """
    ),
    words=by_english(
        """
        file: fichier fichiers
        directory: répertoire répertoires dossier dossiers
        web: web internet
        email: e-mail email mail courriel e-mails courriels mails
        message: message messages
        channel: canal canaux chaîne
        user: utilisateur utilisateurs
        weather: météo temps
        forecast: prévisions prévision
        flight: vol vols
        hotel: hôtel hôtels
        room: chambre chambres
        task: tâche tâches
        event: événement événements rendez-vous
        calendar: calendrier agenda
        timer: minuteur
        table: table tables
        query: requête requêtes
        database: base données
        page: page pages
        status: statut état
        log: journal
        branch: branche branches
        changes: modifications changements
        issue: ticket tickets problème issue issues
        repository: dépôt dépôts repository
        graph: graphe
        entity: entité entités
        order: commande commandes
        shipment: colis livraison
        product: produit produits
        price: prix
        currency: devise
        image: image images illustration
        screenshot: capture
        article: article articles
        note: note notes
        text: texte
        sum: somme
        time: heure
        contact: contact contacts
        restaurant: restaurant restaurants
        route: itinéraire trajet
        news: actualités nouvelles
        video: vidéo vidéos
        result: résultat résultats
        open: ouverts ouvertes ouvert ouverte
        closed: fermés fermées fermé fermée
        document: document documents
        minutes: minutes minute
        seconds: secondes seconde
        hours: heures
        days: jours jour
        place: lieu lieux endroit
        city: ville
        """
    ),
    prepositions=by_english(
        """
        in: dans en à au aux
        on: sur
        of: de du des d
        for: pour
        to: vers
        about: propos sujet
        with: avec
        near: près
        from: depuis
        between: entre
        until: jusqu
        under: sous
        """
    ),
    function_words=word_set(
        """
        le la les un une des du de et est sont mon ma mes moi me que quel quelle quels quelles dans pour sur avec je tu
        vous il au aux ne pas mais ou ce cette ces en l d n sans tous toutes rien fait
        """
    ),
    determiners=word_set(
        "le la les l un une des du mon ma mes ton ta tes ce cet cette ces tous toutes tout toute moi me chaque d nos nous"
    ),
    lead_ins=word_set(
        "puis ensuite alors d'abord maintenant seulement juste plutôt et ou mais enfin finalement aussi bonjour merci svp"
    ),
    lead_in_phrases=phrases(
        "s il te plaît|s il vous plaît|peux tu|pouvez vous|pourrais tu|pourriez vous|je veux|je voudrais|j ai besoin de|"
        "n oublie pas de|n oubliez pas de|peux-tu|pouvez-vous|pourrais-tu|pourriez-vous|s'il te plaît|s'il vous plaît"
    ),
    joints=word_set("et ou mais puis"),
    strong_joints=word_set("puis ensuite mais enfin"),
    references=word_set("le la les l ça cela celui celle y"),
    questions=word_set("que quel quelle quels quelles qui où quand comment combien pourquoi est"),
    negators=phrases(
        "ne|n|pas de|jamais|sans|au lieu de|au lieu d|plutôt que|sauf|excepté|évite|évitez|surtout pas|aucun|aucune"
    ),
    free_negators=word_set("ne n"),
    positive=phrases("n oublie pas|n oubliez pas|ne oublie pas"),
    exclusions=phrases("au lieu de|au lieu d|plutôt que|sauf|excepté|mais pas|et pas|hormis"),
    action_exclusions=word_set("sans"),
    action_endings=("er", "ir", "re", "oir"),
    naming=word_set("appelé appelée nommé nommée intitulé intitulée titre disant"),
    nothing=word_set("rien aucun aucune personne"),
)
