BEGIN TRANSACTION;
CREATE TABLE gateway_accounts (
        account TEXT PRIMARY KEY, under_way INTEGER NOT NULL, count INTEGER NOT NULL) WITHOUT ROWID;
INSERT INTO "gateway_accounts" VALUES('id-ada',1,2);
CREATE TABLE gateway_calls (
        account TEXT NOT NULL, call TEXT NOT NULL, until_s REAL NOT NULL, held INTEGER NOT NULL, day TEXT NOT NULL,
        month TEXT NOT NULL, is_open INTEGER NOT NULL, PRIMARY KEY (account, call)) WITHOUT ROWID;
INSERT INTO "gateway_calls" VALUES('id-ada','c2',2795348800.0,70,'2026-11-22','2026-11',1);
CREATE TABLE gateway_documents (
        id TEXT PRIMARY KEY, kind TEXT NOT NULL, stored REAL NOT NULL, expires REAL NOT NULL, data BLOB NOT NULL);
INSERT INTO "gateway_documents" VALUES('de42679faa9f7a609a3e51604342a54c8a011e6302e659d72b427bc9cbf2c71e','response',1795348800.0,2795348800.0,X'006F6E65');
CREATE TABLE gateway_keys (
        name TEXT PRIMARY KEY, digest TEXT NOT NULL UNIQUE, version INTEGER NOT NULL, record TEXT NOT NULL);
INSERT INTO "gateway_keys" VALUES('ada','ada-1',1,'{"name":"ada","id":"id-ada","digest":"ada-1","caller":"ada","version":1,"limits":{"rate":60,"window_s":60.0,"concurrency":4,"day_nusd":5000000000,"month_nusd":null},"models":["fast"],"created_s":1795348800.0,"expires_s":null,"revoked_s":null,"narrows_tools":null,"requires_price":false}');
CREATE TABLE gateway_spend (
        account TEXT NOT NULL, period TEXT NOT NULL, spent INTEGER NOT NULL DEFAULT 0, held INTEGER NOT NULL DEFAULT 0,
        requests INTEGER NOT NULL DEFAULT 0, refused INTEGER NOT NULL DEFAULT 0, unpriced INTEGER NOT NULL DEFAULT 0,
        PRIMARY KEY (account, period)) WITHOUT ROWID;
INSERT INTO "gateway_spend" VALUES('id-ada','2026-11',120,70,2,0,0);
INSERT INTO "gateway_spend" VALUES('id-ada','2026-11-22',120,70,2,0,0);
CREATE TABLE gateway_starts (
        account TEXT NOT NULL, place INTEGER NOT NULL, start_s REAL NOT NULL, PRIMARY KEY (account, place))
        WITHOUT ROWID;
INSERT INTO "gateway_starts" VALUES('id-ada',0,1795348800.0);
INSERT INTO "gateway_starts" VALUES('id-ada',1,1795348800.0);
CREATE INDEX gateway_documents_by_age ON gateway_documents (kind, stored);
CREATE INDEX gateway_calls_by_end ON gateway_calls (account, is_open, until_s);
COMMIT;
PRAGMA user_version = 1;
