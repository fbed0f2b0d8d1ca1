//! Words of five languages: enough function words for language detection, nouns for titles that read
//! nicely, and endings from which the long tail of a vocabulary is put together.

use serde::{Deserialize, Serialize};

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Language {
    English,
    German,
    French,
    Spanish,
    Portuguese,
}

impl Language {
    pub const ALL: [Language; 5] = [
        Language::English,
        Language::German,
        Language::French,
        Language::Spanish,
        Language::Portuguese,
    ];

    /// As in the `lang` attribute.
    pub fn code(self) -> &'static str {
        match self {
            Language::English => "en",
            Language::German => "de",
            Language::French => "fr",
            Language::Spanish => "es",
            Language::Portuguese => "pt",
        }
    }

    pub(crate) fn list(self) -> &'static WordList {
        match self {
            Language::English => &ENGLISH,
            Language::German => &GERMAN,
            Language::French => &FRENCH,
            Language::Spanish => &SPANISH,
            Language::Portuguese => &PORTUGUESE,
        }
    }
}

pub(crate) struct WordList {
    /// By falling frequency, separated by spaces.
    pub function: &'static str,
    pub nouns: &'static str,
    /// Joins two nouns in a title.
    pub joints: [&'static str; 4],
    pub starts: &'static str,
    pub endings: &'static str,
}

/// Sections and slugs of all sites are English and ASCII: paths stay readable in every tool.
pub(crate) const SECTIONS: [&str; 16] = [
    "archive", "coast", "craft", "field", "garden", "harbour", "history", "kitchen", "letters",
    "library", "market", "music", "notes", "people", "travel", "workshop",
];

pub(crate) const SLUGS: [&str; 32] = [
    "amber", "anchor", "autumn", "barley", "bridge", "candle", "cedar", "chalk", "clover",
    "copper", "ferry", "flint", "hollow", "juniper", "lantern", "linen", "marble", "meadow",
    "mill", "mosaic", "nettle", "orchard", "paper", "quarry", "river", "saddle", "salt", "slate",
    "thistle", "tower", "willow", "winter",
];

static ENGLISH: WordList = WordList {
    function: "the of and to in a is that for it was on are as with they at be this from have or \
        by one had not but what all were when we there can an your which their said if will each \
        about how up out them then she many some so these would other into has more two him see \
        could no than first been its who now people my made over did down only way find use may \
        water long little very after words called just where most know through before because \
        between under while still another always should without",
    nouns: "lantern harbour orchard bridge copper letter garden winter river market tower window \
        island forest castle mountain journey village library painter kitchen station morning \
        evening candle shadow mirror feather meadow stone bread music story teacher captain sailor \
        farmer weaver potter thunder silver summer valley ocean street corner ladder basket",
    joints: ["and", "of the", "without", "beyond the"],
    starts: "ba con de ex for gra ham in jo ken lo mar ne or pre qui re sta tran un ver wil ye ac \
        bri cla dis em fro ga hol im jus kni li mo na ob par ri sho tem up vi wor",
    endings: "ing ed er tion ment ness able ful less ly ship hood ward ity ive ous al ant ence ism \
        est ry age dom let ster ton field well",
};

static GERMAN: WordList = WordList {
    function: "der die und in den von zu das mit sich des auf für ist im dem nicht ein eine als \
        auch es an werden aus er hat dass sie nach wird bei einer um am sind noch wie einem über \
        einen so zum war haben nur oder aber vor zur bis mehr durch man sein wurde sei ihre hatte \
        kann gegen vom können schon wenn habe seine mark ihren dann unter wir soll ich eines \
        jahr zwei jahren diese dieser wieder keine uhr seiner worden will zwischen immer",
    nouns: "Laterne Hafen Garten Brücke Kupfer Brief Winter Fluss Markt Turm Fenster Insel Wald \
        Schloss Gebirge Reise Dorf Bücherei Maler Küche Bahnhof Morgen Abend Kerze Schatten Spiegel \
        Feder Wiese Stein Brot Musik Geschichte Lehrer Kapitän Seemann Bauer Weber Töpfer Donner \
        Silber Sommer Tal Ozean Straße Ecke Leiter Korb Mühle",
    joints: ["und", "ohne", "mit", "für"],
    starts: "be ver ge auf ein ab un zer ent vor nach über durch um hin her wirt land haus stadt \
        arbeit kraft zeit grund haupt volks schul kunst wasser",
    endings: "ung heit keit schaft lich isch bar sam los ig en er chen lein tum nis ling erei tion \
        ismus weise mäßig reich voll halb",
};

static FRENCH: WordList = WordList {
    function: "de la le et les des en un du une que est pour qui dans a par plus pas au sur ne se \
        ce il sont la avec ou son elle mais comme nous on cette ses aux été être fait leur bien \
        tout deux sans ont même ces entre aussi encore vous peut après années dont leurs avait \
        était très où avant depuis autres contre jour dit moins donc ils sous rien jamais \
        toujours lorsque pendant chaque",
    nouns: "lanterne port verger pont cuivre lettre jardin hiver rivière marché tour fenêtre île \
        forêt château montagne voyage village bibliothèque peintre cuisine gare matin soir bougie \
        ombre miroir plume prairie pierre pain musique histoire maître capitaine marin fermier \
        tisserand potier tonnerre argent été vallée océan rue coin échelle panier moulin",
    joints: ["et", "sans", "avec", "sous"],
    starts: "con dé ré pré en in trans com pro su ap ex im per sou par mé ac al ob dis é res",
    endings: "tion ment age ité eur euse able ible ique isme iste ance ence ure ette ois aire ière \
        eux elle ise ude oire",
};

static SPANISH: WordList = WordList {
    function: "de la que el en y a los se del las un por con no una su para es al lo como más o \
        pero sus le ha me si sin sobre este ya entre cuando todo esta ser son dos también fue \
        había era muy años hasta desde está mi porque qué sólo han yo hay vez puede todos así nos \
        ni parte tiene él uno donde bien tiempo mismo ese ahora cada vida otro después te otros \
        aunque esa eso hace otra gobierno tan durante siempre",
    nouns: "farol puerto huerto puente cobre carta jardín invierno río mercado torre ventana isla \
        bosque castillo montaña viaje pueblo biblioteca pintor cocina estación mañana tarde vela \
        sombra espejo pluma prado piedra pan música historia maestro capitán marinero campesino \
        tejedor alfarero trueno plata verano valle océano calle esquina escalera cesta molino",
    joints: ["y", "sin", "con", "bajo"],
    starts: "con des re pre en in trans com pro su ex im per par ac al ob dis es res cor ber gua",
    endings: "ción miento aje idad dor dora able ible ico ismo ista ancia encia ura ito és ario \
        ero oso illa eza anza torio ando",
};

static PORTUGUESE: WordList = WordList {
    function: "de a o que e do da em um para é com não uma os no se na por mais as dos como mas \
        foi ao ele das tem à seu sua ou ser quando muito há nos já está eu também só pelo pela até \
        isso ela entre era depois sem mesmo aos ter seus quem nas me esse eles estão você tinha \
        foram essa num nem suas meu às minha têm numa pelos elas havia seja qual será nós tenho \
        lhe deles essas esses pelas este fosse dele",
    nouns: "lanterna porto pomar ponte cobre carta jardim inverno rio mercado torre janela ilha \
        floresta castelo montanha viagem aldeia biblioteca pintor cozinha estação manhã noite vela \
        sombra espelho pena prado pedra pão música história professor capitão marinheiro lavrador \
        tecelão oleiro trovão prata verão vale oceano rua esquina escada cesto moinho",
    joints: ["e", "sem", "com", "sob"],
    starts: "con des re pre en in trans com pro su ex im per par ac al ob dis es res cor mar lu",
    endings: "ção mento agem idade dor dora ável ível ico ismo ista ância ência ura inho ês ário \
        eiro oso inha eza ança tório ando",
};
