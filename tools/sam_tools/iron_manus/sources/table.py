"""The public APIs that come with the program, as Markdown tables: each category is a heading.

A reliability of 0 says that the service has ended.
"""

TABLE = """\
## animals

| API | Keywords | Auth | Base URL | Endpoint | Documentation | Reliability |
|---|---|---|---|---|---|---|
| Cat Facts API | cats, facts, animals, pets, random | None | https://catfact.ninja | /fact | https://catfact.ninja/ | 0.9 |
| Dog API | dogs, images, breeds, animals, pets | None | https://dog.ceo | /api/breeds/image/random | https://dog.ceo/dog-api/documentation/ | 0.95 |
| Random Fox API | fox, images, animals, random, wildlife | None | https://randomfox.ca | /floof/ | https://randomfox.ca/ | 0.85 |
| GBIF API | species, biodiversity, wildlife, plants, animals | None | https://api.gbif.org | /v1/species/search?limit=5&q={query} | https://techdocs.gbif.org/en/openapi/ | 0.85 |
| Cataas API | cats, pictures, gifs, animals, service | None | https://cataas.com | /cat?json=true | https://cataas.com/doc.html | 0.85 |
| HTTPCat API | cats, http, status, codes, development | None | https://http.cat | /{status}.jpg | https://http.cat/ | 0.8 |
| iNaturalist API | species, observations, wildlife, biodiversity, nature | None | https://api.inaturalist.org | /v1/taxa?per_page=5&q={query} | https://api.inaturalist.org/v1/docs/ | 0.85 |
| Axolotl API | axolotl, animals, pictures, facts, amphibians | None | https://axoltlapi.herokuapp.com | / | https://theaxolotlapi.netlify.app/ | 0 |
| HTTP Dogs API | dogs, http, status, codes, animals, development | None | https://httpstatusdogs.com | /img/{status}.jpg | https://httpstatusdogs.com/ | 0.8 |
| MeowFacts API | cats, facts, animals, random, trivia | None | https://meowfacts.herokuapp.com | /?count=3 | https://github.com/wh-iterabb-it/meowfacts | 0.8 |
| Shibe Online API | shiba, inu, cats, birds, animals, pictures | None | http://shibe.online | /api/shibes?count=3 | http://shibe.online/ | 0 |

## art

| API | Keywords | Auth | Base URL | Endpoint | Documentation | Reliability |
|---|---|---|---|---|---|---|
| Lorem Picsum | images, placeholder, random, photos, design | None | https://picsum.photos | /v2/list?limit=10 | https://picsum.photos/ | 0.9 |
| Metropolitan Museum API | museum, art, collection, metropolitan, culture, objects | None | https://collectionapi.metmuseum.org | /public/collection/v1/search?q={query} | https://metmuseum.github.io/ | 0.9 |
| Art Institute of Chicago API | art, institute, chicago, museum, collection, paintings | None | https://api.artic.edu | /api/v1/artworks/search?limit=5&q={query} | https://api.artic.edu/docs/ | 0.9 |
| Colormind API | color, palette, design, ui, art, aesthetics | None | http://colormind.io | /list/ | http://colormind.io/api-access/ | 0.75 |

## color

| API | Keywords | Auth | Base URL | Endpoint | Documentation | Reliability |
|---|---|---|---|---|---|---|
| The Color API | color, palette, design, ui, scheme | None | https://www.thecolorapi.com | /scheme?mode=analogic&count=5&hex={hex} | https://www.thecolorapi.com/docs | 0.85 |

## fonts

| API | Keywords | Auth | Base URL | Endpoint | Documentation | Reliability |
|---|---|---|---|---|---|---|
| Fontsource API | fonts, typography, design, css | None | https://api.fontsource.org | /v1/fonts?subsets=latin | https://fontsource.org/docs/api/introduction | 0.85 |
| Google Fonts API | fonts, typography, design, css | API Key | https://www.googleapis.com | /webfonts/v1/webfonts?sort=popularity&key={api_key} | https://developers.google.com/fonts/docs/developer_api | 0.85 |

## books

| API | Keywords | Auth | Base URL | Endpoint | Documentation | Reliability |
|---|---|---|---|---|---|---|
| Open Library API | books, library, education, reading, literature | None | https://openlibrary.org | /search.json?limit=5&q={query} | https://openlibrary.org/developers/api | 0.9 |
| Gutendex API | books, ebooks, gutenberg, literature, reading | None | https://gutendex.com | /books?search={query} | https://gutendex.com/ | 0.85 |

## calendar

| API | Keywords | Auth | Base URL | Endpoint | Documentation | Reliability |
|---|---|---|---|---|---|---|
| Nager.Date API | holidays, calendar, dates, countries, public | None | https://date.nager.at | /api/v3/PublicHolidays/{year}/{country} | https://date.nager.at/Api | 0.9 |

## cryptocurrency

| API | Keywords | Auth | Base URL | Endpoint | Documentation | Reliability |
|---|---|---|---|---|---|---|
| CoinGecko API | crypto, bitcoin, ethereum, finance, trading, market | None | https://api.coingecko.com | /api/v3/coins/markets?vs_currency=usd&per_page=10 | https://docs.coingecko.com/ | 0.91 |
| Coinbase Price API | bitcoin, price, cryptocurrency, finance, exchange | None | https://api.coinbase.com | /v2/prices/{pair}/spot | https://docs.cdp.coinbase.com/ | 0.85 |
| CoinDesk Bitcoin Price API | bitcoin, price, cryptocurrency, finance, market | None | https://api.coindesk.com | /v1/bpi/currentprice.json | https://developers.coindesk.com/ | 0 |

## finance

| API | Keywords | Auth | Base URL | Endpoint | Documentation | Reliability |
|---|---|---|---|---|---|---|
| Frankfurter API | currency, exchange, rates, finance, euro, dollar | None | https://api.frankfurter.dev | /v1/latest | https://frankfurter.dev/ | 0.85 |
| SEC EDGAR API | companies, filings, stocks, finance, reports | None | https://data.sec.gov | /submissions/CIK{cik}.json | https://www.sec.gov/search-filings/edgar-application-programming-interfaces | 0.85 |
| Alpha Vantage API | stocks, shares, market, finance, prices | API Key | https://www.alphavantage.co | /query?function=GLOBAL_QUOTE&symbol={symbol}&apikey={api_key} | https://www.alphavantage.co/documentation/ | 0.85 |

## statistics

| API | Keywords | Auth | Base URL | Endpoint | Documentation | Reliability |
|---|---|---|---|---|---|---|
| World Bank API | economy, population, indicators, statistics, development, countries | None | https://api.worldbank.org | /v2/country/{country}/indicator/{indicator}?format=json | https://datahelpdesk.worldbank.org/knowledgebase/topics/125589 | 0.85 |
| FRED API | economy, statistics, inflation, unemployment, finance | API Key | https://api.stlouisfed.org | /fred/series/observations?file_type=json&series_id={series}&api_key={api_key} | https://fred.stlouisfed.org/docs/api/fred/ | 0.85 |
| Eurostat API | statistics, europe, economy, population | None | https://ec.europa.eu | /eurostat/api/dissemination/statistics/1.0/data/{dataset}?format=JSON | https://ec.europa.eu/eurostat/web/main/data/web-services | 0.85 |

## dictionaries

| API | Keywords | Auth | Base URL | Endpoint | Documentation | Reliability |
|---|---|---|---|---|---|---|
| Free Dictionary API | dictionary, words, definitions, language, english | None | https://api.dictionaryapi.dev | /api/v2/entries/en/{word} | https://dictionaryapi.dev/ | 0.9 |
| Datamuse API | words, synonyms, rhymes, language, english | None | https://api.datamuse.com | /words?max=10&ml={query} | https://www.datamuse.com/api/ | 0.85 |

## entertainment

| API | Keywords | Auth | Base URL | Endpoint | Documentation | Reliability |
|---|---|---|---|---|---|---|
| JokeAPI | jokes, humor, programming, entertainment, random | None | https://v2.jokeapi.dev | /joke/Any?safe-mode | https://jokeapi.dev/ | 0.9 |
| TVmaze API | television, shows, series, episodes, actors | None | https://api.tvmaze.com | /search/shows?q={query} | https://www.tvmaze.com/api | 0.85 |
| TMDB API | movies, films, actors, television, cinema | API Key | https://api.themoviedb.org | /3/search/movie?query={query}&api_key={api_key} | https://developer.themoviedb.org/docs | 0.85 |
| Imgflip API | memes, images, humor, generator, popular, internet | None | https://api.imgflip.com | /get_memes | https://imgflip.com/api | 0.85 |
| Chuck Norris Jokes API | chuck, norris, jokes, humor, random | None | https://api.chucknorris.io | /jokes/random | https://api.chucknorris.io/ | 0.85 |
| Official Joke API | jokes, humor, setup, punchline, random | None | https://official-joke-api.appspot.com | /random_joke | https://github.com/15Dkatz/official_joke_api | 0.8 |
| Bored API | activities, boredom, random, suggestions, fun | None | https://www.boredapi.com | /api/activity | https://www.boredapi.com/documentation | 0 |
| Quotable API | quotes, inspiration, famous, sayings, wisdom | None | https://api.quotable.io | /random | https://github.com/lukePeavey/quotable | 0 |
| Chuck Norris Database | chuck, norris, jokes, humor, random, database | None | http://api.icndb.com | /jokes/random | http://www.icndb.com/api/ | 0 |
| Meme Maker API | memes, maker, creator, generator, humor, images | None | http://alpha-meme-maker.herokuapp.com | / | https://mememaker.github.io/API/ | 0 |

## food

| API | Keywords | Auth | Base URL | Endpoint | Documentation | Reliability |
|---|---|---|---|---|---|---|
| TheMealDB API | recipes, meals, cooking, ingredients, food | None | https://www.themealdb.com | /api/json/v1/1/search.php?s={query} | https://www.themealdb.com/api.php | 0.9 |
| TheCocktailDB API | cocktails, drinks, recipes, alcohol, beverages | None | https://www.thecocktaildb.com | /api/json/v1/1/search.php?s={query} | https://www.thecocktaildb.com/api.php | 0.85 |
| Open Food Facts API | food, products, ingredients, nutrition, groceries | None | https://world.openfoodfacts.org | /cgi/search.pl?json=1&page_size=5&search_terms={query} | https://openfoodfacts.github.io/openfoodfacts-server/api/ | 0.85 |
| USDA FoodData Central API | food, nutrition, nutrients, calories, ingredients | API Key | https://api.nal.usda.gov | /fdc/v1/foods/search?query={query}&api_key={api_key} | https://fdc.nal.usda.gov/api-guide.html | 0.85 |

## games

| API | Keywords | Auth | Base URL | Endpoint | Documentation | Reliability |
|---|---|---|---|---|---|---|
| Deck of Cards API | cards, deck, games, shuffle, draw | None | https://deckofcardsapi.com | /api/deck/new/shuffle/?deck_count=1 | https://deckofcardsapi.com/ | 0.9 |
| Pokemon API | pokemon, games, stats, types, abilities | None | https://pokeapi.co | /api/v2/pokemon/{name} | https://pokeapi.co/docs/v2 | 0.95 |
| Rick and Morty API | rick, morty, characters, episodes, tv | None | https://rickandmortyapi.com | /api/character/?name={query} | https://rickandmortyapi.com/documentation | 0.9 |
| Open Trivia Database | trivia, questions, quiz, knowledge, game | None | https://opentdb.com | /api.php?amount=10 | https://opentdb.com/api_config.php | 0.85 |

## geocoding

| API | Keywords | Auth | Base URL | Endpoint | Documentation | Reliability |
|---|---|---|---|---|---|---|
| REST Countries API | countries, geography, population, currencies, data | None | https://restcountries.com | /v3.1/name/{country} | https://restcountries.com/ | 0.95 |
| Nominatim API | address, places, maps, coordinates, geocode | None | https://nominatim.openstreetmap.org | /search?format=json&limit=5&q={query} | https://nominatim.org/release-docs/latest/api/Overview/ | 0.85 |
| ipapi.co | ip, geolocation, location, city, country | None | https://ipapi.co | /{ip}/json/ | https://ipapi.co/api/ | 0.9 |
| GeoJS | ip, geolocation, country, city, location | None | https://get.geojs.io | /v1/ip/geo/{ip}.json | https://www.geojs.io/docs/ | 0.8 |
| Zippopotam API | postal, zip, codes, places, location | None | https://api.zippopotam.us | /{country}/{code} | https://docs.zippopotam.us/ | 0.85 |
| IP-API | ip, geolocation, location, isp, country | None | http://ip-api.com | /json/{ip} | https://ip-api.com/docs | 0.85 |

## development

| API | Keywords | Auth | Base URL | Endpoint | Documentation | Reliability |
|---|---|---|---|---|---|---|
| Stack Overflow API | programming, questions, answers, community, developers, help | None | https://api.stackexchange.com | /2.3/search/advanced?order=desc&sort=relevance&site=stackoverflow&q={query} | https://api.stackexchange.com/docs | 0.89 |
| JSONPlaceholder API | testing, prototype, mock, development, rest, json | None | https://jsonplaceholder.typicode.com | /posts/1 | https://jsonplaceholder.typicode.com/guide/ | 0.9 |
| GitHub API | github, repositories, code, software, programming | None | https://api.github.com | /search/repositories?per_page=5&q={query} | https://docs.github.com/rest | 0.85 |
| GitLab API | gitlab, repositories, code, software, programming | None | https://gitlab.com | /api/v4/projects?per_page=5&search={query} | https://docs.gitlab.com/api/rest/ | 0.85 |
| deps.dev API | dependencies, packages, licences, versions, software | None | https://api.deps.dev | /v3/systems/{system}/packages/{package} | https://docs.deps.dev/api/v3/ | 0.85 |
| endoflife.date API | releases, versions, support, software, lifecycle | None | https://endoflife.date | /api/{product}.json | https://endoflife.date/docs/api/ | 0.85 |
| CountAPI | counting, tracking, analytics, hits, events, free | None | https://api.countapi.xyz | /hit/{namespace}/{name} | https://countapi.xyz/ | 0 |
| Ciprand API | random, string, generator, secure, cryptography, tools | None | https://ciprand.p3p.repl.co | /api?len=20&count=10 | https://github.com/polarspetroll/ciprand | 0 |
| ExtendsClass JSON Storage | json, storage, temporary, data, store, api | None | https://json.extendsclass.com | /bin/{id} | https://extendsclass.com/json-storage.html | 0.8 |

## security

| API | Keywords | Auth | Base URL | Endpoint | Documentation | Reliability |
|---|---|---|---|---|---|---|
| OSV API | vulnerabilities, security, advisories, packages, cve | None | https://api.osv.dev | /v1/vulns/{id} | https://google.github.io/osv.dev/api/ | 0.85 |
| NVD API | cve, vulnerabilities, security, advisories | None | https://services.nvd.nist.gov | /rest/json/cves/2.0?resultsPerPage=5&keywordSearch={query} | https://nvd.nist.gov/developers/vulnerabilities | 0.85 |
| Have I Been Pwned Breaches API | breaches, passwords, leaks, security, accounts | None | https://haveibeenpwned.com | /api/v3/breaches | https://haveibeenpwned.com/API/v3 | 0.85 |

## reference

| API | Keywords | Auth | Base URL | Endpoint | Documentation | Reliability |
|---|---|---|---|---|---|---|
| Wikipedia API | encyclopedia, facts, knowledge, articles, history | None | https://en.wikipedia.org | /w/api.php?action=query&list=search&format=json&srlimit=5&srsearch={query} | https://www.mediawiki.org/wiki/API:Search | 0.85 |
| Internet Archive API | archive, books, films, history, library | None | https://archive.org | /advancedsearch.php?output=json&rows=5&q={query} | https://archive.org/developers/ | 0.85 |
| Wikidata API | facts, knowledge, entities, encyclopedia, linked | None | https://www.wikidata.org | /w/api.php?action=wbsearchentities&format=json&language=en&limit=5&search={query} | https://www.wikidata.org/wiki/Wikidata:Data_access | 0.85 |

## academic

| API | Keywords | Auth | Base URL | Endpoint | Documentation | Reliability |
|---|---|---|---|---|---|---|
| Crossref API | papers, research, citations, doi, journals | None | https://api.crossref.org | /works?rows=5&query={query} | https://www.crossref.org/documentation/retrieve-metadata/rest-api/ | 0.85 |
| arXiv API | papers, preprints, research, physics, mathematics, computing, quantum | None | https://export.arxiv.org | /api/query?max_results=5&search_query=all:{query} | https://info.arxiv.org/help/api/index.html | 0.85 |
| OpenAlex API | papers, research, citations, authors, institutions | None | https://api.openalex.org | /works?per-page=5&search={query} | https://docs.openalex.org/ | 0.85 |
| Semantic Scholar API | papers, research, citations, authors, abstracts | None | https://api.semanticscholar.org | /graph/v1/paper/search?limit=5&query={query} | https://api.semanticscholar.org/api-docs/ | 0.85 |
| PubMed E-utilities | medicine, papers, research, biology, articles | None | https://eutils.ncbi.nlm.nih.gov | /entrez/eutils/esearch.fcgi?db=pubmed&retmode=json&term={query} | https://www.ncbi.nlm.nih.gov/books/NBK25501/ | 0.85 |

## news

| API | Keywords | Auth | Base URL | Endpoint | Documentation | Reliability |
|---|---|---|---|---|---|---|
| Hacker News Search API | news, technology, startups, discussion | None | https://hn.algolia.com | /api/v1/search?hitsPerPage=5&query={query} | https://hn.algolia.com/api | 0.85 |
| GDELT API | news, media, world, events, articles | None | https://api.gdeltproject.org | /api/v2/doc/doc?mode=artlist&format=json&query={query} | https://blog.gdeltproject.org/gdelt-doc-2-0-api-debuts/ | 0.85 |
| The Guardian API | news, newspaper, articles, politics, world | API Key | https://content.guardianapis.com | /search?q={query}&api-key={api_key} | https://open-platform.theguardian.com/documentation/ | 0.85 |
| Spaceflight News API | space, spaceflight, rockets, launches, news | None | https://api.spaceflightnewsapi.net | /v4/articles/?limit=5&search={query} | https://api.spaceflightnewsapi.net/v4/docs/ | 0.85 |

## science

| API | Keywords | Auth | Base URL | Endpoint | Documentation | Reliability |
|---|---|---|---|---|---|---|
| NASA APOD API | nasa, astronomy, space, pictures, daily | API Key | https://api.nasa.gov | /planetary/apod?api_key={api_key} | https://api.nasa.gov/ | 0.9 |
| USGS Earthquake API | earthquakes, seismic, geology, disasters | None | https://earthquake.usgs.gov | /fdsnws/event/1/query?format=geojson&limit=10 | https://earthquake.usgs.gov/fdsnws/event/1/ | 0.85 |
| NASA Image Library API | nasa, astronomy, space, pictures, videos | None | https://images-api.nasa.gov | /search?q={query} | https://images.nasa.gov/docs/images.nasa.gov_api_docs.pdf | 0.85 |
| Where the ISS at API | iss, space, station, location, orbit | None | https://api.wheretheiss.at | /v1/satellites/25544 | https://wheretheiss.at/w/developer | 0.85 |
| Sunrise Sunset API | sunrise, sunset, daylight, twilight, sun | None | https://api.sunrise-sunset.org | /json?lat={latitude}&lng={longitude} | https://sunrise-sunset.org/api | 0.85 |
| Numbers API | numbers, facts, math, trivia, mathematics | None | http://numbersapi.com | /{number}?json | http://numbersapi.com/ | 0.85 |
| Open Notify ISS API | iss, space, station, location, orbit | None | http://api.open-notify.org | /iss-now.json | http://open-notify.org/Open-Notify-API/ | 0.8 |

## health

| API | Keywords | Auth | Base URL | Endpoint | Documentation | Reliability |
|---|---|---|---|---|---|---|
| Disease.sh COVID-19 API | covid, coronavirus, statistics, health, data | None | https://disease.sh | /v3/covid-19/all | https://disease.sh/docs/ | 0.9 |
| openFDA API | drugs, medicine, recalls, food, health | None | https://api.fda.gov | /drug/label.json?limit=3&search={query} | https://open.fda.gov/apis/ | 0.85 |
| ClinicalTrials.gov API | trials, medicine, studies, drugs, health | None | https://clinicaltrials.gov | /api/v2/studies?pageSize=5&query.term={query} | https://clinicaltrials.gov/data-api/api | 0.85 |

## weather

| API | Keywords | Auth | Base URL | Endpoint | Documentation | Reliability |
|---|---|---|---|---|---|---|
| Open-Meteo API | weather, temperature, forecast, climate, wind | None | https://api.open-meteo.com | /v1/forecast?latitude={latitude}&longitude={longitude}&current=temperature_2m,wind_speed_10m | https://open-meteo.com/en/docs | 0.85 |
| OpenWeatherMap API | weather, temperature, forecast, climate, free | API Key | https://api.openweathermap.org | /data/2.5/weather?units=metric&q={city}&appid={api_key} | https://openweathermap.org/current | 0.85 |
| wttr.in | weather, temperature, forecast, cities, wind | None | https://wttr.in | /{city}?format=j1 | https://github.com/chubin/wttr.in | 0.85 |
| National Weather Service API | weather, forecast, alerts, storms, usa | None | https://api.weather.gov | /points/{latitude},{longitude} | https://www.weather.gov/documentation/services-web-api | 0.85 |
| MET Norway API | weather, forecast, temperature, wind, rain | None | https://api.met.no | /weatherapi/locationforecast/2.0/compact?lat={latitude}&lon={longitude} | https://api.met.no/weatherapi/locationforecast/2.0/documentation | 0.85 |

## random

| API | Keywords | Auth | Base URL | Endpoint | Documentation | Reliability |
|---|---|---|---|---|---|---|
| Random User Generator | users, random, testing, fake, data | None | https://randomuser.me | /api/?results=5 | https://randomuser.me/documentation | 0.9 |
| Lorem Ipsum API | lorem, ipsum, text, placeholder, dummy | None | https://loripsum.net | /api/3/short | https://loripsum.net/ | 0.85 |

## anime

| API | Keywords | Auth | Base URL | Endpoint | Documentation | Reliability |
|---|---|---|---|---|---|---|
| Jikan API | anime, manga, characters, entertainment | None | https://api.jikan.moe | /v4/anime?limit=5&q={query} | https://docs.api.jikan.moe/ | 0.85 |
| Studio Ghibli API | ghibli, anime, films, movies, characters | None | https://ghibliapi.vercel.app | /films | https://ghibliapi.vercel.app/ | 0.8 |
| AnimeChan API | anime, quotes, manga, characters, entertainment | None | https://api.animechan.io | /v1/quotes/random | https://animechan.io/docs | 0.85 |

## business

| API | Keywords | Auth | Base URL | Endpoint | Documentation | Reliability |
|---|---|---|---|---|---|---|
| GLEIF API | companies, business, legal, entities, finance | None | https://api.gleif.org | /api/v1/lei-records?filter[fulltext]={query} | https://www.gleif.org/en/lei-data/gleif-api | 0.85 |
| Clearbit Logo API | logos, companies, branding, business, images | None | https://logo.clearbit.com | /{domain} | https://clearbit.com/logo | 0 |

## gaming

| API | Keywords | Auth | Base URL | Endpoint | Documentation | Reliability |
|---|---|---|---|---|---|---|
| Pokemon TCG API | pokemon, tcg, trading, cards, game, collectibles | None | https://api.pokemontcg.io | /v2/cards?pageSize=5&q=name:{name} | https://docs.pokemontcg.io/ | 0.85 |
| AmiiboAPI | nintendo, amiibo, gaming, collectibles, characters | None | https://amiiboapi.com | /api/amiibo/?name={name} | https://www.amiiboapi.com/docs/ | 0.9 |
| Pokemon-3D-api | pokemon, 3d, models, threejs, glb, gaming, javascript | None | https://pokemon-3d-api.onrender.com | /v1/pokemon | https://pokemon-3d-api.onrender.com/ | 0.9 |
| Animal Crossing API | animal, crossing, nintendo, villagers, furniture, gaming | None | http://acnhapi.com | /v1/villagers/ | http://acnhapi.com/doc | 0 |
| Age of Empires II API | age, empires, strategy, gaming, units, civilizations | None | https://age-of-empires-2-api.herokuapp.com | /api/v1/civilizations | https://age-of-empires-2-api.herokuapp.com/docs/ | 0 |

## testing

| API | Keywords | Auth | Base URL | Endpoint | Documentation | Reliability |
|---|---|---|---|---|---|---|
| httpbin API | http, requests, testing, headers, mock | None | https://httpbin.org | /json | https://httpbin.org/ | 0.85 |

## government

| API | Keywords | Auth | Base URL | Endpoint | Documentation | Reliability |
|---|---|---|---|---|---|---|
| Data.gov API | government, data, public, usa, open | API Key | https://api.gsa.gov | /technology/datagov/v3/action/package_search?q={query}&api_key={api_key} | https://open.gsa.gov/api/datadotgov/ | 0.9 |
| UK Police API | police, crime, uk, streets, forces | None | https://data.police.uk | /api/forces | https://data.police.uk/docs/ | 0.85 |

## sports

| API | Keywords | Auth | Base URL | Endpoint | Documentation | Reliability |
|---|---|---|---|---|---|---|
| OpenLigaDB API | sports, football, matches, scores, bundesliga | None | https://api.openligadb.de | /getmatchdata/{league} | https://www.openligadb.de/ | 0.85 |
| TheSportsDB API | sports, scores, teams, players, statistics | API Key | https://www.thesportsdb.com | /api/v1/json/{api_key}/searchteams.php?t={team} | https://www.thesportsdb.com/documentation | 0.85 |
| ESPN API | sports, scores, teams, players, statistics | API Key | https://api.espn.com | /v1/sports?apikey={api_key} | https://www.espn.com/apis/devcenter/ | 0 |

## transportation

| API | Keywords | Auth | Base URL | Endpoint | Documentation | Reliability |
|---|---|---|---|---|---|---|
| Transport for London API | transport, uk, public, journey, trains, london | None | https://api.tfl.gov.uk | /Line/Mode/tube/Status | https://api.tfl.gov.uk/ | 0.85 |
| UK Transport API | transport, uk, public, journey, trains | API Key | https://transportapi.com | /v3/uk/places.json?type=train_station&query={query}&app_id={app_id}&app_key={api_key} | https://developer.transportapi.com/ | 0.8 |

## music

| API | Keywords | Auth | Base URL | Endpoint | Documentation | Reliability |
|---|---|---|---|---|---|---|
| MusicBrainz API | music, artists, albums, songs, recordings | None | https://musicbrainz.org | /ws/2/artist?fmt=json&limit=5&query={query} | https://musicbrainz.org/doc/MusicBrainz_API | 0.85 |
| Lyrics.ovh API | lyrics, songs, music, artist, text | None | https://api.lyrics.ovh | /v1/{artist}/{title} | https://lyricsovh.docs.apiary.io/ | 0.8 |
| iTunes Search API | music, songs, albums, podcasts, apps | None | https://itunes.apple.com | /search?limit=5&term={query} | https://developer.apple.com/library/archive/documentation/AudioVideo/Conceptual/iTuneSearchAPI/ | 0.85 |

## utilities

| API | Keywords | Auth | Base URL | Endpoint | Documentation | Reliability |
|---|---|---|---|---|---|---|
| QR Server API | qr, code, generator, barcode, image | None | https://api.qrserver.com | /v1/create-qr-code/?data={query} | https://goqr.me/api/ | 0.85 |
| is.gd URL Shortener | url, shortener, links, redirect, free | None | https://is.gd | /create.php?format=json&url={url} | https://is.gd/apishorteningreference.php | 0.8 |
"""
