-- The tables of a store (srdcr_lab/models/store.py), made in one transaction.
CREATE TABLE IF NOT EXISTS meta (key TEXT PRIMARY KEY, value TEXT NOT NULL) WITHOUT ROWID;
INSERT OR IGNORE INTO meta VALUES ('version', '1');
CREATE TABLE IF NOT EXISTS
    models (id INTEGER PRIMARY KEY, key TEXT UNIQUE NOT NULL, provider TEXT, name TEXT, label TEXT,
    fingerprint TEXT, settings);
CREATE TABLE IF NOT EXISTS requests (id INTEGER PRIMARY KEY, digest TEXT UNIQUE NOT NULL, canonical TEXT NOT NULL);
CREATE TABLE IF NOT EXISTS completions (model INTEGER, request INTEGER, stream TEXT, draw INTEGER, text TEXT NOT NULL,
    tokens TEXT, logprobs TEXT, finish_reason TEXT NOT NULL, prompt_tokens INTEGER, completion_tokens INTEGER,
    created TEXT NOT NULL, thinking, thinking_tokens, margins,
    PRIMARY KEY (model, request, stream, draw)) WITHOUT ROWID;
CREATE TABLE IF NOT EXISTS spending (run TEXT PRIMARY KEY, usd REAL NOT NULL) WITHOUT ROWID;
CREATE TABLE IF NOT EXISTS facts (model TEXT, name TEXT, value TEXT NOT NULL, created TEXT NOT NULL,
    PRIMARY KEY (model, name)) WITHOUT ROWID;
CREATE TABLE IF NOT EXISTS elsewhere (custom_id TEXT PRIMARY KEY, model TEXT, digest TEXT, stream TEXT, draws TEXT,
    scored INTEGER, batch TEXT, canonical TEXT) WITHOUT ROWID;
CREATE INDEX IF NOT EXISTS open_elsewhere ON elsewhere (batch) WHERE canonical IS NOT NULL;
