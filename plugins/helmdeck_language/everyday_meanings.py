"""What words stand for that a catalog does not contain: "diary" for a calendar, "striker" for the statistics of a player.

The words of ``KINDS`` are expanded in every catalog. These are more, and only read for words without an entry of their own: a
guess is better than nothing, but worse than what the catalog says.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Mapping
from functools import cache
from typing import Final

from helmdeck_language.chinese_meanings import CHINESE_TABLE
from helmdeck_language.synonyms import add_kinds

# The words of catalogs, and after the colon the words of people.
_TABLE: Final = """
light device entity: lamp lamps bulb bulbs chandelier downlight dimmer dim brighten nightlight lightbulb
climate thermostat device: heating heater radiator boiler hvac aircon chilly warmer cooler underfloor furnace
device entity switch: socket outlet blinds shutter curtain curtains awning humidifier dehumidifier kettle
smart home device: alexa siri hue zigbee homekit sonos roomba doorbell ikea
lock device: deadbolt frontdoor keyless keypad doorlock garage
camera stream snapshot: webcam cctv doorbell surveillance footage dashcam
vacuum device: hoover roomba dock mop robovac
calendar event: diary dentist appointment haircut anniversary checkup brunch catchup reschedule barber rsvp
reminder task: chore chores errand errands forget groceries bins nag deadline
task project: backlog milestone sprint kanban overdue assignee todo workload checklist
alarm timer: wake snooze countdown stopwatch oven nap pomodoro
meeting transcript: attendees attendee agenda standup minuted
message channel: slack dm ping thread teammate teammates colleagues discord mattermost
sms message phone: texted texting handset textmessage otp
phone call: voicemail caller landline rang ringing hotline
email message: inbox unread spam junk attachment mailbox sender recipient gmail outlook cc bcc newsletter replied
contact people: phonebook surname colleague rolodex acquaintance coworker
document text: letter essay memo handbook contract manuscript heading whitepaper dissertation
pdf document: watermark leaflet brochure ebook acrobat
note page: jotted jot notebook notepad scribble notion evernote obsidian jotting onenote
file drive: dropbox folder gdrive onedrive attachment usb
spreadsheet sheet cell: column row formula xlsx excel pivot worksheet workbook csv sumif cells
presentation slide: powerpoint pptx keynote bullet deck
form response survey: questionnaire respondent poll rsvp typeform
signature document: signatory docusign countersign esign
image edit: crop blur brightness contrast sepia grayscale watermark rotate resize background sharpen saturation
    retouch
image generate: painting sketch watercolor watercolour cartoon portrait illustration anime wallpaper
image photo: selfie snapshot headshot landscape thumbnail backdrop unsplash
ocr text image: handwriting handwritten receipt photographed legible
color palette: hex turquoise beige pastel hsl rgb teal maroon tint
video edit: trim footage timelapse slowmotion montage stabilize framerate fps splice
video transcript caption: subtitles subtitle srt captions closedcaption vtt
video channel: youtube youtuber vlog vlogger subscriber subscribers vimeo uploaded livestream
stream live: twitch streamer livestream broadcaster streaming
audio edit: loudness volume decibel fade mono stereo bass equalizer reverb noise tempo hiss
audio transcribe speech: dictation dictate dictaphone voicemail spoken
text speech voice: narrator narrate aloud voiceover accent audiobook
track playback: song pause skip louder quieter queue mute unpause
music artist: rapper singer band drummer discography hiphop techno vocalist songwriter rap composer
music album track: vinyl ep remix discography setlist spotify soundtrack bpm
playlist music: mixtape spotify songs workout upbeat chill
lyric song: chorus verse sing sung karaoke singalong refrain
music chord: chords ukulele riff strum melody
radio station: fm dab broadcast dj
movie series: actor actress villain season sequel prequel imdb streaming starring cast hbo hulu sitcom
tv show episode: season finale sitcom pilot binge miniseries soap telly airs aired
movie streaming: netflix hulu disney hbo binge
anime manga: otaku naruto shonen pokemon waifu isekai crunchyroll
book author: novelist isbn wrote writer memoir trilogy bestseller hardback fiction
quote: proverb saying wisdom einstein motivational
poem poetry: poet sonnet haiku rhyme limerick stanza ode shakespeare
bible verse: scripture psalm gospel genesis testament jesus proverbs corinthians
prayer time: mosque fajr maghrib muslim ramadan isha dhuhr asr qibla
match score: goal goals scorer kickoff halftime fixture penalty referee derby won
player statistics: scorer striker goalkeeper quarterback assists midfielder defender pitcher topscorer rebounds
league standings: champion champions relegated relegation tournament promoted bundesliga
football team league: goal striker goalkeeper fifa uefa premier bundesliga arsenal chelsea liverpool coach squad
    offside
basketball game team: nba dunk lakers rebound celtics wnba threepointer
baseball game player: mlb pitcher inning homerun yankees dodgers
football nfl game: quarterback touchdown superbowl linebacker fieldgoal
hockey nhl game: puck goalie stanley rink skater
cricket match score: wicket wickets innings batsman bowler ipl t20 odi
tennis match player: wimbledon grandslam atp wta racket djokovic federer
golf tournament player: pga birdie caddie putt ryder
race driver result: f1 grandprix ferrari nascar motogp podium verstappen
boxing fight ufc: mma boxer knockout fighter bout heavyweight
odds betting: bet bookmaker wager underdog bookie gambling
olympic medal athlete: olympics sprinter marathon swimmer olympian
game player: steam xbox playstation nintendo multiplayer minecraft fortnite gamer dlc console esports speedrun
chess game move: checkmate grandmaster pawn elo gambit lichess
dice random number: coin toss lottery d20 tails
lottery result number: jackpot lotto powerball euromillions megamillions raffle
trivia question: pub quiz quizzes quizmaster pubquiz
joke: laugh laughing pun knock punchline hilarious giggle riddle
stock quote price: shares ticker nyse nvidia trading rally bullish bearish
income statement financial: profit revenue earnings ebitda turnover eps quarterly profitable
balance sheet financial: assets liabilities debt solvent leverage
cash flow financial: capex liquidity fcf cashflow runway
dividend stock: payout yield yields exdividend dividends shareholder
company financial ratio: pe valuation undervalued overvalued roe roi
market index: sp500 nasdaq dax ftse nikkei dow indices
fund etf: vanguard etfs ishares mutual tracker holdings
portfolio position: holdings brokerage broker rebalance allocation diversified invested
technical indicator: rsi macd bollinger sma ema overbought oversold momentum crossover
commodity price: gold silver copper wheat oil crude brent
interest rate: fed ecb fomc libor euribor hike
inflation economic indicator: cpi unemployment recession gdp jobless payrolls
company filing sec: 10k 10q 8k edgar prospectus ipo
crypto coin price: bitcoin ethereum solana cardano dogecoin altcoin memecoin btc eth xrp ripple
blockchain transaction gas: gwei mined mempool onchain confirmations
account transaction bank: spending spent withdrawal overdraft deposit statement atm deposited withdrawn
payment transfer bank: rent debit direct iban recipient standing remittance wire payee venmo
payment: paypal stripe chargeback visa mastercard
expense budget: spent spending groceries splurge overspend receipts frugal saved reimbursed reimbursement
loan mortgage: repay installment instalment deposit lender amortization downpayment remortgage apr
currency exchange rate: dollars euros pounds bucks quid sterling pesos rupees baht lira francs zloty ringgit
invoice accounting: overdue bookkeeping ledger accountant unpaid quickbooks xero owe owes owed
subscription plan customer: renew renewal unsubscribe billed membership
order shipment: parcel refund ordered undelivered dispatched delivered
package tracking shipment: parcel courier ups fedex dhl usps postman dispatched customs
cart product: basket checkout trolley wishlist
product price: cheapest cheaper discounted bargain ebay walmart afford affordable
coupon discount promo: voucher promocode blackfriday cashback
product search: headphones sneakers sofa laptop blender handbag mattress kettle toaster vacuum gadget perfume
grocery product store: supermarket groceries tesco aldi lidl kroger walmart aisle
barcode product: ean upc gtin packet
flight search: fly flying fare fares oneway stopover layover nonstop roundtrip airfare flights
flight status: delayed landed departed takeoff diverted arrivals departures landing
aircraft flight: boeing airbus cessna helicopter callsign overhead pilot cockpit
airport: terminal runway heathrow jfk lax lounge iata icao departures arrivals baggage
airline: ryanair lufthansa baggage luggage
train station departure: platform departures amtrak railway trains intercity commuter sbb eurostar tgv
transit stop departure: bus tram subway metro underground busstop tube timetable monorail
bus route: greyhound flixbus busstop shuttle
bike station share: bicycle bikes ebike scooter citibike cycle docked
ship vessel: ferry tanker yacht freighter cruise mmsi imo
ride taxi: uber lyft cab rideshare chauffeur minicab
vehicle: tyre tyres mileage odometer vin numberplate horsepower toyota bmw honda ford hatchback
car rental: rentacar hertz avis suv sixt convertible
charging station electric: ev charger plug chargepoint kilowatt supercharger
fuel price station: diesel petrol unleaded gasoline litre gallon refuel
traffic incident road: congestion accident roadworks motorway highway gridlock tailback
location place: nearest nearby nearer closest pharmacy bakery neighborhood atm supermarket
geocode location address: postcode zipcode zip coordinates latitude longitude street gps lat lon
route direction distance: walk walking cycling detour shortest bike
elevation location: altitude summit sealevel hill peak
country information: capital continent brazil kenya france japan population
weather: degrees hot cold frost freezing chilly warm icy mild sleet gust muggy overcast raincoat umbrella barbecue
weather alert: hurricane tornado blizzard flood typhoon cyclone evacuation evacuate warnings storm
hurricane storm: cyclone typhoon landfall tropical
air quality: smog pollution haze pm25 pm10 ozone breathe particulate aqi smoky
pollen allergy: hayfever sneezing ragweed birch grass sneeze
uv index sun: sunburn sunscreen tan tanning ultraviolet
tide water level: tides ebb lowtide hightide beachcomb moonrise
marine wave: surf surfing swell waves surfer buoy
sunrise sunset: dawn dusk daylight twilight sundown daybreak nightfall
moon phase: fullmoon crescent waxing waning eclipse newmoon lunar
space planet: asteroid comet jupiter saturn venus meteor orbit constellation nebula supernova exoplanet
satellite iss: astronaut astronauts orbit starlink spacestation
launch rocket space: spacex falcon liftoff starship payload countdown nasa astronaut
star sky constellation: orion polaris stargazing telescope bigdipper binoculars
earthquake volcano: tremor quake eruption erupt erupted lava magma shook shaking epicenter aftershock
mineral geology rock: quartz granite crystal gemstone sediment fossil
species observation: bird butterfly beetle mushroom frog snake spider owl squirrel lizard wildlife fungus
plant species: toxic poisonous flower houseplant leaf cactus orchid fern succulent wildflower edible oak
plant care garden: repot fertilizer prune soil seedling compost lawn tomatoes sow weeds mulch orchid wilting
food nutrition: vitamin vitamins protein carbs fiber sodium sugar calories fat avocado banana yogurt kcal
    cholesterol nutrients
recipe ingredient: leftovers fridge pantry casserole lasagna pancakes curry stew chicken omelette roast soup tofu
    pasta
recipe meal: dinner supper vegetarian vegan keto snack dessert ketogenic paleo lunchbox
cocktail drink: mojito martini gin vodka rum tequila whiskey margarita bartender liqueur shaker
wine: merlot chardonnay pinot vineyard grape bordeaux sommelier riesling vintage cabernet
beer brewery: ale ipa lager pub stout pint pilsner brew
drug label: dosage dose pill pills tablet overdose antibiotic painkiller paracetamol aspirin ibuprofen
    contraindication
clinical trial study: trials placebo volunteer recruiting enrolled cohort
disease health condition: cancer diabetes asthma flu measles malaria migraine arthritis eczema stroke dementia
symptom diagnosis: fever cough rash headache dizzy vomiting swollen itchy sore ache
medical provider doctor: dentist dermatologist pediatrician cardiologist gp specialist npi surgeon optician
patient record: allergies vaccinated immunization bloodwork diagnosed admitted vitals
gene protein variant: dna mutation genome brca chromosome allele snp rna hereditary
chemical compound molecule: aspirin caffeine toxicity boiling molar acid solvent benzene ethanol smiles
periodic element: atomic helium oxygen hydrogen uranium carbon noblegas isotope sodium
fitness activity: jog jogging strava treadmill cycled garmin marathon hike workout cardio
exercise muscle: biceps abs squats pushups triceps glutes deadlift dumbbell planks hamstring
sleep health: slept nap insomnia bedtime snore asleep
heart rate: pulse bpm ecg heartbeat palpitations
meditation mindfulness: relax breathing anxious burnout anxiety
bill vote legislation: senate parliament mp filibuster voted amendment lawmakers reform
member congress legislator: senator mp congressman congresswoman representative lawmaker constituency
election candidate: ballot vote voter polling poll turnout mayor presidential
court case opinion: judge ruling verdict lawsuit sued precedent plaintiff defendant appeal supreme
law statute regulation: illegal legally compliance legislation decree ordinance
grant funding: nonprofit scholarship stipend donor
charity nonprofit organization: donate donation volunteer ngo
crime police: burglary theft stolen murder robbery robberies arrested felony offence homicide
company officer: director directors ceo chairman founder shareholder
company search: owner owns filing subsidiary headquarters incorporated gmbh ltd registered shareholder competitor
property listing: flat flats bedroom house realtor zillow landlord condo sqft bungalow villa cottage
job search: vacancies parttime internship recruiter salary
employee: payslip pto onboarding salary colleague coworker
time entry: timesheet logged clocked overtime billable
university school: college campus tuition undergraduate degree alumni enrolment faculty
student course: grades homework assignment classroom professor syllabus teacher semester gpa enrolled
flashcard quiz learn: anki memorise revision revise cram vocab
paper citation: cite cited citations author authors bibliography doi preprint coauthor journal arxiv hindex
paper search: arxiv preprint journal pubmed thesis
patent: invention inventor invented patented uspto infringement
translate text: spanish french german italian japanese portuguese korean mandarin swahili tagalog persian translated
    translator
word definition: meaning synonyms antonym etymology vocabulary spelled pronounce thesaurus
word rhyme: rhymes rhyming anagram scrabble crossword wordle palindrome
wikipedia article: biography encyclopedia founded invented historian wiki
person biography: birthplace childhood died celebrity spouse married
news article: headlines journalist newspaper reporter cnn bbc reuters scandal nyt
social media post: tweet tweeted hashtag viral instagram facebook linkedin followers repost tiktok
user profile follower: followers influencer followed username instagram fans
subreddit post comment: reddit redditors upvote upvotes subreddits karma redditor ama
repository code: repo github gitlab codebase fork starred readme opensource
commit branch: git pushed merge rebase cherrypick revert stash diff checkout
pull request: prs merge reviewer merged
issue repository: bug bugs bugfix regression reproduce reported triage
issue ticket project: jira backlog sprint bug blocker assignee
workflow pipeline run: ci deploy failing github jenkins builds
package dependency version: npm pip pypi maven outdated upgrade
library documentation: react django howto framework sdk numpy pandas api
error log: crash crashed exception stacktrace outage traceback logs downtime timeout
metric monitor dashboard: latency uptime cpu grafana outage throughput datadog prometheus
incident alert: outage pager oncall pagerduty downtime escalation sev1 postmortem
code execute: python script snippet javascript sandbox repl
shell command terminal: bash ls grep zsh cli sudo
browser page: click clicking scroll tab chrome login screenshot playwright headless
test run: unittest pytest failing flaky jest selenium
api endpoint request: curl http header webhook swagger openapi
database query table: row rows column columns postgres mysql sqlite schema sql
instance cluster cloud: vm ec2 autoscale aws azure gcp server
bucket object storage: s3 blob minio gcs
deployment project: vercel netlify heroku staging production
breach email password: leaked leak hacked pwned compromised darkweb stolen exposed
vulnerability cve: exploit exploited zeroday log4j cvss
malware url scan: virus suspicious phishing ransomware trojan scam scammy infected virustotal
ip address: vpn proxy geolocate isp subnet router ipv4 ipv6
domain whois: registrar expiry expire expires registered godaddy registrant
dns record: mx nameserver cname txt subdomain propagate
ssl certificate: https tls expiry padlock
url shorten: bitly shortened shortlink tinyurl
unit convert: inches feet miles pounds kilograms kilos litres gallons ounces celsius fahrenheit metres cups acres
    yards km kg
math calculate: percent percentage sqrt factorial integral derivative
math solve equation: quadratic polynomial matrix simultaneous
statistics data: median variance regression correlation deviation outlier
time timezone: oclock utc gmt pst midnight noon daylight
holiday: easter thanksgiving christmas ramadan diwali hanukkah bankholiday dayoff pentecost eve
event ticket concert: gig gigs festival stadium venue ticketmaster headliner presale
artwork museum: painting sculpture painter picasso rembrandt monet masterpiece canvas impressionist louvre
hotel search: nights checkin checkout room rooms hostel motel airbnb guests inn
restaurant table reservation: brunch dine opentable seated
restaurant search: hungry eat sushi ramen tapas pizzeria bistro steak tacos vegan diner michelin burger
attraction place: sights castle temple zoo landmark monument aquarium sightseeing
tour activity: excursion guided snorkeling safari kayaking sightseeing getyourguide
trip itinerary: honeymoon backpacking roadtrip getaway citybreak vacation packing
visa requirement country: passport embassy consulate immigration visafree
hiking: hike footpath trek trekking mountain summit walk
pet animal: vet puppy kitten hamster parrot rabbit leash terrier
pet adoption: shelter rescue adopt stray
insurance policy claim: deductible insurer insured liability
tax calculate: deduction irs vat gst withholding hmrc
ticket support customer: zendesk complaint complain helpdesk complaining escalate complained
ad campaign: impressions cpc clicks adwords conversions ctr
inventory stock item: warehouse bin sku restock soldout reorder pallet pallets
supplier purchase order: vendor procurement manufacturer sourcing
print printer job: 3d filament prusa octoprint toner nozzle
electricity price: kwh kilowatt tariff megawatt cheapest
carbon emission: co2 footprint greenhouse emissions climate offset
solar power: panels photovoltaic rooftop inverter sunlight
country indicator statistics: population literacy gdp poverty unemployment fertility inhabitants mortality
    lifeexpectancy percapita
baby name: girl boy unisex naming newborn
family tree genealogy: ancestor ancestors ancestry grandfather grandparents lineage descendants
fashion clothing: trousers skirt blouse sweater blazer handbag
cosmetic product: lipstick mascara moisturizer serum acne skincare
design file component: figma mockup wireframe prototype
map layer: geojson shapefile gis choropleth openstreetmap
text summarize: tldr shorten gist digest
grammar text check: typo typos misspelled comma spelling punctuation proofread
farm crop agriculture: harvest wheat cattle livestock fertilizer maize farmer tractor
device scene automation: goodnight bedtime routine movienight
drug interaction: alcohol pills grapefruit warfarin ibuprofen paracetamol
drug adverse reaction: nausea nauseous drowsy dizziness itching vomiting
password generate: passphrase pin unguessable keepass bitwarden
website performance: pagespeed lighthouse sluggish ttfb
qr code: scannable vcard qrcode flyer
date calculate: leap weekday elapsed fortnight birthdate
travel advisory country: dangerous embassy consulate kidnapping unrest
salary compensation: paycheck payslip payrise wages underpaid
crm deal lead: salesforce hubspot prospect prospects pipedrive
keyword ranking: google seo serp backlinks
review product rating: trustpilot reviewers complaints yelp
manufacturing production: factory factories assembly foundry machinist
household task: laundry dishes hoovering housekeeping tidying dusting ironing
insurance claim: insurer burglary whiplash deductible policyholder
health record patient: bloodwork vaccinated referral discharge
television device media: telly channel roku chromecast firestick hdmi
parking: parked garage carpark multistorey
feed rss: blog podcast feedly substack
alarm security home: intruder burglar armed disarm
public holiday: easter christmas thanksgiving bankholiday whitsun
"""


def _rows() -> Iterator[tuple[str, str]]:
    for table in (_TABLE, CHINESE_TABLE):
        for row in table.strip().replace("\n    ", " ").splitlines():
            kinds, _, cases = row.partition(":")
            yield kinds, cases


@cache
def everyday_words() -> Mapping[str, tuple[str, ...]]:
    """Return the terms that a term stands for where a catalog does not contain it."""
    found: dict[str, dict[str, None]] = defaultdict(dict)
    add_kinds(found, _rows())
    return {term: tuple(others) for term, others in found.items()}
