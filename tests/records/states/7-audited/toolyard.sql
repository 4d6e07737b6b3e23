BEGIN TRANSACTION;
CREATE TABLE addresses (
    number INTEGER PRIMARY KEY, address TEXT NOT NULL UNIQUE, server TEXT NOT NULL
);
INSERT INTO "addresses" VALUES(1,'toolyard://name/shop','shop@configured');
INSERT INTO "addresses" VALUES(2,'toolyard://name/docs','docs@agents');
CREATE TABLE asking (
    server TEXT PRIMARY KEY, launch TEXT NOT NULL, question TEXT NOT NULL, roots INTEGER NOT NULL
);
CREATE TABLE audit (
    id INTEGER PRIMARY KEY, at REAL NOT NULL, by TEXT NOT NULL, address TEXT NOT NULL,
    verb TEXT NOT NULL, kind TEXT NOT NULL, key TEXT NOT NULL, before TEXT, after TEXT
);
INSERT INTO "audit" VALUES(1,1.7949575265434412956e+09,'control','127.0.0.1','put','token','ci',NULL,'{"sha256":"[secret]","servers":["shop"],"profile":"","created_at":"2026-11-17T23:18:46+00:00","agent":"","executor":"","expires_at":"2027-02-15T23:18:46+00:00"}');
INSERT INTO "audit" VALUES(2,1.79495752894626665113e+09,'control','127.0.0.1','put','profile','review',NULL,'{"hide":["shop/buy"],"environment":{"LEVEL":"1"}}');
INSERT INTO "audit" VALUES(3,1.79495753043105936049e+09,'control','127.0.0.1','put','config','codex',NULL,'{"enabled":true,"servers":{"docs":{"type":"http","url":"http://a/mcp","mode":"auto"},"shop":{"mode":"per_session","server":"shop"}},"meta":{"docs":{"description":"The docs"}}}');
INSERT INTO "audit" VALUES(4,1.79495753182206869121e+09,'control','127.0.0.1','put','policy','docker',NULL,'{"allow_stdio":true,"allow_http":true,"allow_sse":true,"allow_streamable_http":true,"http_url_rewrite":{},"env_injection":{},"env_override":[],"allow":[],"deny":["docs"],"stdio_proxy":true}');
CREATE TABLE call_log (
    id INTEGER PRIMARY KEY,
    at REAL NOT NULL,
    agent TEXT NOT NULL,
    caller TEXT NOT NULL,
    server TEXT NOT NULL,
    tool TEXT NOT NULL,
    ms REAL NOT NULL,
    asked INTEGER NOT NULL,
    answered INTEGER NOT NULL,
    outcome TEXT NOT NULL,
    error TEXT NOT NULL,
    arguments TEXT,
    result TEXT
, start_ms REAL NOT NULL DEFAULT 0, person_at_ms REAL NOT NULL DEFAULT 0, person_ms REAL NOT NULL DEFAULT 0);
INSERT INTO "call_log" VALUES(1,1.79495752126855349535e+09,'control','control','shop','look',18.425,16,47,'ok','','{"what":"shelf"}','{"content":[{"type":"text","text":"done"}]}',0.0,0.0,0.0);
INSERT INTO "call_log" VALUES(2,1.79495752238635301583e+09,'control','control','shop','buy',0.868,2,68,'tool-error','sold out','{}','{"content":[{"type":"text","text":"sold out"}],"isError":true}',0.0,0.0,0.0);
INSERT INTO "call_log" VALUES(3,1.79495752466636037825e+09,'control','control','shop','look',128.566,15,47,'ok','','{"what":"door"}','{"content":[{"type":"text","text":"done"}]}',123.549,0.0,0.0);
CREATE TABLE identity (id TEXT NOT NULL);
INSERT INTO "identity" VALUES('c963f693ff9e9e4059406a9cff34eafa');
CREATE TABLE pinned_launches (
    server TEXT PRIMARY KEY, hash TEXT NOT NULL, approved_at REAL NOT NULL
);
CREATE TABLE pinned_parts (
    server TEXT NOT NULL, kind TEXT NOT NULL, key TEXT NOT NULL, hash TEXT NOT NULL,
    raw BLOB NOT NULL, approved_at REAL NOT NULL, last TEXT NOT NULL, words TEXT NOT NULL,
    turns INTEGER NOT NULL, PRIMARY KEY (server, kind, key)
);
INSERT INTO "pinned_parts" VALUES('shop@configured','tools','look','395a879b1bf184c732e65a488152dee90f4f454300e200ecdb3c01801b45d190',X'7B226E616D65223A20226C6F6F6B222C20226465736372697074696F6E223A20226C6F6F6B73222C2022696E707574536368656D61223A207B2274797065223A20226F626A656374222C202270726F70657274696573223A207B2277686174223A207B2274797065223A2022737472696E67227D7D7D7D',1.79495751754402780532e+09,'395a879b1bf184c732e65a488152dee90f4f454300e200ecdb3c01801b45d190','12d9f847624ebbdb',0);
INSERT INTO "pinned_parts" VALUES('shop@configured','tools','buy','4e0cf5ec06e7a672f3f011fc15a9b124584bd8fbdc1a71bee61948c2cb4d8315',X'7B226E616D65223A2022627579222C20226465736372697074696F6E223A202262757973222C2022696E707574536368656D61223A207B2274797065223A20226F626A656374222C202270726F70657274696573223A207B2277686174223A207B2274797065223A2022737472696E67227D7D7D7D',1.79495751754402780532e+09,'f3602a804ce3e0662f8413163cf5e761ee817408d8de987561983824ed18072f','f3641ef5845cdd3a a5a7248116355f12',0);
INSERT INTO "pinned_parts" VALUES('shop@configured','instructions','','ef4c50bf5cff4d5e6016961cfbbaed9f6029de85f88f53593f55e57f491ab23a',X'7B22696E737472756374696F6E73223A2022227D',1.79495751754402780532e+09,'ef4c50bf5cff4d5e6016961cfbbaed9f6029de85f88f53593f55e57f491ab23a','238fa28a94976c7d',0);
INSERT INTO "pinned_parts" VALUES('shop@configured','tools','sell','e8cd87ced59b64aa105a4031016f903e7a15aa45670eadd7e498b193e5832799',X'7B226E616D65223A202273656C6C222C20226465736372697074696F6E223A202273656C6C73222C2022696E707574536368656D61223A207B2274797065223A20226F626A656374222C202270726F70657274696573223A207B2277686174223A207B2274797065223A2022737472696E67227D7D7D7D',0.0,'e8cd87ced59b64aa105a4031016f903e7a15aa45670eadd7e498b193e5832799','118a1bac15b9a560',0);
CREATE TABLE roster (
    kind TEXT NOT NULL, key TEXT NOT NULL, value TEXT NOT NULL, version INTEGER NOT NULL,
    PRIMARY KEY (kind, key)
);
INSERT INTO "roster" VALUES('config','codex','{"enabled":true,"servers":{"docs":{"type":"http","url":"http://a/mcp","mode":"auto"},"shop":{"mode":"per_session","server":"shop"}},"meta":{"docs":{"description":"The docs"}}}',1);
INSERT INTO "roster" VALUES('policy','docker','{"allow_stdio":true,"allow_http":true,"allow_sse":true,"allow_streamable_http":true,"http_url_rewrite":{},"env_injection":{},"env_override":[],"allow":[],"deny":["docs"],"stdio_proxy":true}',2);
CREATE TABLE roster_revision (revision INTEGER NOT NULL);
INSERT INTO "roster_revision" VALUES(2);
CREATE TABLE sharing (
    server TEXT PRIMARY KEY, launch TEXT NOT NULL, verdict TEXT NOT NULL, evidence TEXT NOT NULL
);
COMMIT;
PRAGMA user_version=15;
