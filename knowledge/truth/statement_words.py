"""Words by which statements are compared, in English, German, French and Spanish, in small letters without accents.

Lists, because vectors do not tell: they put “dark” as near to “light” as to “gloomy”, and “may” as near to “must”.
"""

from bigmind.text.hygiene import without_accents


def word_set(listed: str) -> frozenset[str]:
    """Return the words of a list."""
    return frozenset(without_accents(listed).split())


NEGATIONS = word_set(
    "not no never none nothing nobody without cannot nor neither unable lacks nicht kein keine keinen keinem "
    "keiner nie niemals ohne niemand nichts pas jamais aucun aucune sans rien personne nunca jamas sin ningun "
    "ninguna nadie nada tampoco"
)
"""“Off” and the verbs below deny, too, but are words about the subject as well."""
DOUBLED = word_set("pas jamais aucun aucune rien personne plus nunca jamas ningun ninguna nadie nada tampoco")
"""What a second one of does not turn round: “no … nunca”."""
AVOIDING = word_set(
    "avoid avoids skip skips skipped bypass bypasses omit omits stopped stops ceased abandoned off exempt "
    "ueberspringen uberspringen ubersprungen vermeiden entfallt frei sauter eviter ignorer omitir evitar saltarse"
)
FORBIDDING = word_set(
    "forbid forbids forbidden prohibit prohibited ban banned deny denied disallowed disallow illegal verboten "
    "untersagt unzulassig interdit interdite interdits interdites prohibido prohibida prohibidos prohibidas"
)
OBLIGING = word_set(
    "must required requires require mandatory shall needed needs need compulsory obligatory has-to have-to muss "
    "mussen verpflichtend pflicht erforderlich notig braucht brauchen benotigt benotigen vorgeschrieben doit "
    "doivent obligatoire obligatoires faut debe deben obligatorio obligatoria obligatorios necesita necesitan "
    "requiere"
)
PERMITTING = word_set(
    "may can could allowed permitted granted fine ok okay welcome darf durfen kann konnen erlaubt gestattet peut "
    "peuvent permis autorise puede pueden permitido permitida permite"
)
FREE = word_set(
    "optional optionally voluntary recommended freiwillig freigestellt facultatif facultative facultatifs "
    "opcional voluntario"
)
ALONE = word_set(
    "only exclusively solely alone reserved restricted limited-to just nur ausschliesslich allein lediglich "
    "reserviert vorbehalten seul seule seuls seules seulement uniquement exclusivement reserve reservee reserves "
    "solo solamente unicamente exclusivamente reservado reservada"
)
EVERYONE = word_set(
    "everyone everybody anyone anybody everywhere all any every each whoever jeder jede jedes jedem jeden alle "
    "allen alles tous toutes tout chaque quiconque todos todas todo cualquiera cualquier cada"
)
ALWAYS = EVERYONE | word_set("always immer stets toujours siempre no nobody nothing never")
ALSO = word_set("also too additionally besides well another auch zusatzlich aussi egalement tambien ademas")
ADDING = word_set("and or plus und oder sowie et ou y o")
UNLESS = word_set("except unless excluding but besides ausser ausgenommen sauf hormis excepte salvo excepto menos")
BUT = word_set("but aber sondern mais pero")
CONDITION = word_set(
    "if when while during whenever wenn falls wahrend sobald si quand lorsque pendant cuando durante mientras"
)
PAST = word_set(
    "was were had formerly previously earlier originally war waren hatte hatten wurde wurden fruher damals bisher "
    "etait etaient avait avant autrefois era eran estaba habia antes anteriormente"
)
ENOUGH = word_set("enough suffices sufficient suffice reicht genugt suffit basta")
CHANGED = word_set("now moved switched migrated changed became renamed replaced nowadays")
USING = word_set("use uses using prefer prefers verwenden nutzen verwende nutze utiliser utilisons usar usamos usa")
PREFERRING = word_set("prefer prefers likes better over rather prefere preferer prefiero ziehe bevorzuge prefiere")
MANY = word_set(
    "speak speaks support supports like likes know knows sell sells ship ships offer offers accept accepts "
    "include includes has have contain contains enjoy enjoys allergic experience review reviews reviewed check "
    "checks checked returns spreche spricht mag kennt parle parlons aime hablo habla hablan gusta conoce reads "
    "read"
)
"""Verbs after which several things may be said: one speaks several languages."""
REMOVING = word_set(
    "remove removes removed delete deletes deleted drop drops dropped discard discards discarded purge purged "
    "reject rejects rejected geloscht loscht entfernt verworfen abgelehnt supprimes supprimees borran elimina "
    "eliminan rechazan expire expires 401 403"
)
"""What is said to end is kept no longer: it denies as “no … stays” does."""
RELATIVE = word_set("that which who whose qui")
OPEN = word_set("open offen ouvert ouverte abierta abierto")
FOR = word_set("to for fur a pour para")
"""What “open” is followed by where it says for whom."""
OF = word_set("of for from von fur aus des der de du del para")
"""What follows says of which of several something holds."""
INSIDE = word_set(
    "to into onto from through in on at for during of within under im am bei beim fur auf en dans sur pour para a au"
)
ENDED = word_set("superseded deprecated obsolete withdrawn abgelost ersetzt remplacee sustituida obsoleto")
UNTIL = word_set("until till bis jusqu jusque hasta")
FROM = word_set("from since von ab seit depuis desde")
AT_LEAST = word_set("least minimum minimal above over exceeding mindestens uber minimo superior menos moins")
AT_MOST = word_set("most maximum below under hochstens maximal unter maximo inferior plus exceed limited")
BELOW = word_set("below under unter bajo sous less fewer")
ABOVE = word_set("above over more uber sobre exceeding")

LIGHT = word_set(
    "a an the of in on at by for from with and or is are be am been being was were it its that this these those "
    "we they them our your their his her he she you us as into onto than then so both there will would where "
    "which who whom to do does did out up about after before per via such own other others should get gets got "
    "still already here one some between through within over under up-to since until least most more less fewer "
    "very how what itself himself themselves ones has have had having upon across towards against also please let "
    "lets make makes every der die das den dem des ein eine einen einem einer eines und oder ist sind wird werden "
    "wurde worden sein war im in am an auf aus bei beim mit nach von vom vor zu zum zur fur um uber unter durch "
    "als dass es er sie wir ihr ich mir mich unser unsere unseren euch sich hat haben bin bist dieser diese "
    "dieses noch schon so wie wo man etwa pro le la les l un une des du de d et ou est sont sera ete etre a au "
    "aux en dans sur sous par pour avec ce cette ces il elle ils elles on nous vous je j me m se s sa ses leur "
    "leurs notre nos qui que qu ne n y ont lieu el los las lo una unos unas del al y o es esta estan ser ha han "
    "por para con se su sus nuestro nuestra nuestros que como yo me mi nos hay tengo tiene keep keeps kept stay "
    "stays remain remains happen happens take takes took place last lasts lasted run runs ran hold holds give "
    "gives given allow allows accept accepts accepted permit permits lets go goes going valid live lives expire "
    "expires discard discards discarded drop drops dropped delete deletes deleted sent send sends retain retained "
    "store stored stores limit limited meet meets be takes wait waits need needs drink put puts perform performed "
    "carried execute executed lies lie find finds stands findet statt aufbewahrt bewahren bewahrt geloscht loscht "
    "gilt dauert lauft laufen steht stehen liegt liegen bleibt bleiben gespeichert haben hatten braucht brauchen "
    "gibt ablauf auf ab geht gehen conserves conservons conserve conserver conservees supprimes dure stockes "
    "stockees garde gardons ont guardan guardamos guarda guardar borran borrar hace hacen dura tiene tienen haben"
)
STRUCTURE = (
    LIGHT | NEGATIONS | AVOIDING | FORBIDDING | OBLIGING | PERMITTING | FREE | ALONE | EVERYONE | ALSO | ADDING
    | UNLESS | BUT | CONDITION | ENOUGH | USING | AT_LEAST | AT_MOST | word_set(
    "longer always immer toujours siempre never jamais nunca now currently just even plus open "
    "included including available "
        "offen ouvert abierto approx about mandatory fine itself right user's again erneut re"
    )
)  # fmt: skip

SAME = """
user i me my mine myself users / name called named calls call / postgresql postgres / kubernetes k8s / leave
left / choose chose chosen / pay paid / lead led leads leading leitet dirige / draw drawn / build built /
favourite favorite / colour color / licence license / finish done finished / mail email emails mails courriel
correo / approval approvals approve approved approves genehmigung freigabe freigaben freigegeben approbation
aprobacion / review reviewed reviews prufung gepruft pruft revue revision revisar / password passwords passwort
passworter kennwort motdepasse contrasena / log logs protokoll protokolle journaux registros / person people
persons personen persona personas personne personnes / change changes anderung anderungen changement cambios /
release releases / deploy deploys deployed deployment deployments deployt desplegar despliegue deployer
deploiement / backup backups backed sicherung sicherungen sauvegarde sauvegardes sauvegardees copia copias /
database databases datenbank datenbanken base bases / production produktion produccion prod / invoice invoices
invoicing rechnung rechnungen facture factures factura facturas / meeting meetings teamtreffen treffen reunion /
character characters zeichen caracteres / close closes closed schliesst geschlossen ferme cierra / open opens
geoffnet offnet ouvre abre / see sees view visible / pass passes passed hand handed / login signin / merge
merged merges merging / issue issued issues ausgestellt ausstellen emettre emitir / customer customers kunde
kunden client clients cliente clientes / data daten donnees datos / goods gut guter gutern / ramp rampe rampa /
office buro bureau oficina / home hause maison casa / english englisch anglais ingles / german deutsch allemand
aleman / french franzosisch francais frances / spanish spanisch espagnol espanol / automatic automatically
automatisch automatique automatiques automatico / manual manually manuell manuel manuelle / port puerto / owner
owners / test tests testing / copy copies copied kopiert copiees copian / timeout timeouts delay / write written
writes geschrieben schreiben redigee escribe escriben / contact contacts ansprechpartner ansprechpartnerin /
warehouse lager entrepot almacen depot depots / order orders bestellung bestellungen commande commandes pedido
pedidos / euro euros eur / dollar dollars usd / disaster notfall / answer antworte antworten repondre reponds /
work works arbeite arbeitet arbeiten travaille travail trabajo trabaja / drill exercise / freeze froze frozen /
begin begins began begun start starts started starting / bring brought / buy bought
/ teach taught / sell sold / send sent / server serveur servidor
/ high height / long length / wide width / deep depth / storage store / keep kept keeps behalten
/ frame frames fps / memory ram / charge cost costs
"""
"""Words that are one for this, forms and languages."""
OPPOSITES = """
sync async / synchronous asynchronous / synchronously asynchronously / public private / publicly privately / tab
space / merge rebase squash / mutable immutable / up down / true false / minimum maximum / automatic manual /
forward drop discard / enable disable / enabled disabled / activate deactivate / include exclude omit / add
remove / keep delete drop discard / retain delete discard / accept reject refuse decline / approve reject / join
leave quit / hire dismiss fire / love hate dislike / like hate dislike / enjoy hate dislike / increase decrease
reduce lower / raise lower reduce / grow shrink / start stop / open close / free paid / gratuit payant / gratis
pago / kostenlos kostenpflichtig / final provisional / begin finish end / pass fail / succeed fail / show hide /
home office onsite / visible hidden / lock unlock / encrypt decrypt / install uninstall / upgrade downgrade /
win lose / trust distrust / agree disagree / connect disconnect / attach detach / freeze unfreeze / expand
collapse / dark light / bright dark / fast slow / quick slow / quickly slowly / short long / shorter longer /
faster slower / brief detailed long / concise detailed verbose / terse verbose / ascending descending / first
last / early late / earlier later / high low / higher lower / big small / large small / larger smaller / wide
narrow / strong weak / strict lenient loose / hard soft / difficult easy / hard easy / simple complex / cheap
expensive / hot cold / warm cold / full empty / safe unsafe dangerous / local remote / internal external /
inside outside / online offline / temporary permanent / often rarely seldom / single multiple / explicit
implicit / formal informal casual / shared separate own dedicated / same different / horizontal vertical / top
bottom / upper lower / uppercase lowercase / shallow deep / direct indirect / eager lazy / sparse dense / loud
quiet / present absent / available unavailable / good bad / better worse / best worst / on-premises cloud /
right wrong / correct wrong incorrect / green red / active inactive / singular plural / employed unemployed /
centralised decentralised centralized decentralized / stateless stateful / overwrite preserve / push pull / paid
unpaid / offentlich privat / aktiviert deaktiviert / vorher nachher / gross klein / hell dunkel / intern extern
/ publico privado / active desactive / activado desactivado / public prive / interne externe / grand petit /
grande pequeno / interno externo
"""
"""Groups whose first word excludes each of the others."""
ALTERNATIVES = """
morning noon afternoon evening night / spring summer autumn fall winter sommer winter ete hiver verano invierno
/ red orange yellow green blue purple violet pink brown black white grey gray teal cyan magenta turquoise / npm
pnpm yarn bun / pip poetry uv pipenv conda / maven gradle bazel / postgresql mysql mariadb sqlite oracle mongodb
cassandra dynamodb / redis memcached valkey / kafka nats rabbitmq pulsar sqs kinesis / celery sidekiq rq
dramatiq resque / jenkins circleci travis buildkite teamcity / aws azure gcp hetzner / vim neovim emacs helix
nano vscode sublime intellij pycharm / linux windows macos / ubuntu debian fedora arch alpine / pytest unittest
/ jest vitest mocha jasmine / eslint biome tslint / black ruff autopep8 yapf / react vue svelte angular / django
flask fastapi rails laravel / webpack vite rollup esbuild / helm kustomize / terraform pulumi cloudformation /
docker podman / nginx caddy traefik apache haproxy / slack teams discord mattermost / jira linear trello asana /
github gitlab bitbucket gitea / bash zsh fish powershell / mit apache gpl bsd agpl lgpl mpl / rest graphql grpc
soap / json xml yaml toml avro protobuf csv / uuid uuidv7 uuidv4 bigserial bigint integer serial ulid / euro
dollar franc pound zloty krona currency / gram kilogram ounce pound / metre meter foot yard / iso unix epoch /
server browser client / celsius fahrenheit kelvin / planned started ongoing progress finished done completed
cancelled postponed blocked / single married divorced widowed / left right centre / camelcase snakecase
kebabcase / vegan vegetarian omnivore / english german french spanish italian portuguese dutch polish czech
language sprache langue idioma
"""
"""Groups of which one holds at a time, where the rest of two statements is the same."""
HOLDING = word_set(
    "book booked track tracked process processed collect collected order ordered buy bought generate generated "
    "monitor monitored plan planned measure measured calculated trained recorded printed translated gebucht "
    "verwaltet erfasst reserve geres gere live lives move moved locate located host hosted store stored choose "
    "chosen name run runs draw drawn deploy deployed indent sort base based place placed keep kept default start "
    "starts begin end ends pin pinned own owned owns lead leads manage managed maintain maintained use using "
    "prefer want reside schedule scheduled belong belongs set built build rendered render works work format issue "
    "issued answer write written reply version publish published deliver sign signed bill written speak each "
    "handled handle served serve lies lie liegt liegen wohne wohnt gehostet gespeichert geschrieben gebaut "
    "verwenden nutzen lauft antworte ausgestellt stockees stockes heberge redigee redige habite guardan escribe "
    "vive aloja responde usamos utilisons ask contact frag frage fragen demande pregunta paid shipped encoded "
    "stands travels commute"
)
"""Verbs after which one value holds at a time: one lives in one place."""
DIRECT = USING | word_set(
    "choose chose chosen name named called ask contact want set frag frage fragen demande pregunta"
)
"""Verbs that take one value without a preposition."""
OWNING = word_set("own lead manage maintain head chair run leitet dirige")
ROLES = word_set(
    "contact owner lead manager responsible head maintainer chair capital default name colour address winner "
    "author deputy successor chef responsable jefe leiter leiterin verantwortlich zustandig timezone zone title "
    "editor"
)
"""What has one holder at a time."""
UNIT_SECONDS = {
    **dict.fromkeys(word_set("millisecond milliseconds ms"), 0.001),
    **dict.fromkeys(word_set("second seconds sec secs s sekunde sekunden seconde secondes segundo segundos"), 1.0),
    **dict.fromkeys(word_set("minute minutes min mins minuten minuto minutos"), 60.0),
    **dict.fromkeys(word_set("hour hours h hr hrs stunde stunden heure heures hora horas"), 3600.0),
    **dict.fromkeys(word_set("day days d tag tage tagen jour jours dia dias night nights"), 86400.0),
    **dict.fromkeys(word_set("week weeks woche wochen semaine semaines semana semanas"), 7 * 86400.0),
    **dict.fromkeys(word_set("fortnight fortnights"), 14 * 86400.0),
    **dict.fromkeys(word_set("month months monat monate monaten mois mes meses"), 30.4 * 86400),
    **dict.fromkeys(word_set("quarter quarters quartal quartale trimestre trimestres"), 91.25 * 86400),
    **dict.fromkeys(word_set("year years jahr jahre jahren an ans annee annees ano anos"), 365 * 86400.0),
}
UNIT_BYTES = {"kb": 1, "kib": 1, "mb": 10**3, "mib": 10**3, "gb": 10**6, "gib": 10**6, "tb": 10**9, "tib": 10**9}
PERIODS = {
    **dict.fromkeys(word_set("hourly stundlich"), 3600.0),
    **dict.fromkeys(word_set("daily nightly taglich quotidien diario diariamente nachtlich"), 86400.0),
    **dict.fromkeys(word_set("weekly wochentlich hebdomadaire semanal semanalmente"), 7 * 86400.0),
    "fortnightly": 14 * 86400.0,
    **dict.fromkeys(word_set("monthly monatlich mensuel mensual mensualmente"), 30.4 * 86400),
    **dict.fromkeys(word_set("quarterly quartalsweise trimestriel trimestral"), 91.25 * 86400),
    **dict.fromkeys(word_set("yearly annually annual jahrlich annuel anual anualmente"), 365 * 86400.0),
}
EVERY = word_set("every each alle jede jeden jedes tous toutes chaque cada")
PER = word_set("a an per pro im par al por in the each every")
TIMES = word_set("time times mal fois vez veces")
NUMERALS = {
    "zero": 0, "one": 1, "two": 2, "three": 3, "four": 4, "five": 5, "six": 6, "seven": 7, "eight": 8, "nine": 9,
    "ten": 10,
    "eleven": 11, "twelve": 12, "fifteen": 15, "twenty": 20, "thirty": 30, "once": 1, "twice": 2, "thrice": 3,
    "half": 0.5, "zwei": 2, "drei": 3, "vier": 4, "funf": 5, "sechs": 6, "sieben": 7, "acht": 8, "neun": 9, "zehn": 10,
    "elf": 11, "zwolf": 12, "einmal": 1, "zweimal": 2, "dreimal": 3, "viermal": 4, "eins": 1, "deux": 2, "trois": 3,
    "quatre": 4, "cinq": 5, "sept": 7, "huit": 8, "neuf": 9, "dix": 10, "douze": 12, "dos": 2, "tres": 3, "cuatro": 4,
    "cinco": 5, "seis": 6, "siete": 7, "ocho": 8, "nueve": 9, "diez": 10, "doce": 12,
}  # fmt: skip
ARTICLES_ONE = word_set("a an ein eine einer einen einem un une una")
LASTING = word_set("last lasts lasted take takes within for after dauert nach innerhalb")
MONTHS = {
    without_accents(word): number
    for number, words in enumerate(
        (
            *("january januar janvier enero jan", "february februar fevrier febrero feb", "march marz mars marzo"),
            *("april avril abril", "may mai mayo", "june juni juin junio", "july juli juillet julio"),
            *("august aout agosto", "september septembre septiembre", "october oktober octobre octubre"),
            *("november novembre noviembre", "december dezember decembre diciembre"),
        ),
        start=1,
    )
    for word in words.split()
}
DAYS = {
    without_accents(word): number
    for number, words in enumerate(
        (
            *(
                "monday mondays montag montags lundi lundis lunes",
                "tuesday tuesdays dienstag dienstags mardi mardis martes",
            ),
            "wednesday wednesdays mittwoch mittwochs mercredi mercredis miercoles",
            *(
                "thursday thursdays donnerstag donnerstags jeudi jeudis jueves",
                "friday fridays freitag freitags vendredi viernes",
            ),
            *(
                "saturday saturdays samstag samstags samedi sabado sabados",
                "sunday sundays sonntag sonntags dimanche domingo",
            ),
        )
    )
    for word in words.split()
}
SEVERAL_DAYS = {
    **dict.fromkeys(word_set("weekday weekdays workday workdays werktags wochentags"), range(5)),
    **dict.fromkeys(word_set("weekend weekends wochenende wochenenden week-end"), range(5, 7)),
}
GERMAN = word_set("der die das und ist wird werden mit fur auf nicht im am zum zur wir ich kein nur alle")


def groups_in(text: str) -> list[list[str]]:
    """Return the words of each group."""
    return [group.split() for group in without_accents(text).split("/") if group.strip()]
