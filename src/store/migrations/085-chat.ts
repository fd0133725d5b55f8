import type { Migration } from './migration.ts'

/**
 * Chat connections, the people who act through them (each with a token that no request can present), one-time links that
 * connect people, requests that were accepted and must not be accepted again, questions that wait for a click, and messages
 * whose text follows an alert or an approval.
 */
export const chat: Migration = {
  name: 'chat',
  statements: [
    `create table chat_connections (connection_id text primary key, account_id text not null, record text not null,
       channel text, revision integer not null, created_at text not null)`,
    'create index chat_connections_account on chat_connections (account_id)',
    `create table chat_users (chat_user_id text primary key, account_id text not null, connection_id text not null,
       workspace text not null, chat_user text not null, chat_name text not null, user_id text not null,
       token_id text not null, created_at text not null)`,
    'create unique index chat_users_of on chat_users (connection_id, workspace, chat_user)',
    `create table chat_links (code_hash text primary key, connection_id text not null, workspace text not null,
       chat_user text not null, chat_name text not null, expires_at text not null)`,
    `create table chat_requests (connection_id text not null, request text not null, at text not null,
       primary key (connection_id, request))`,
    `create table chat_questions (question_id text primary key, connection_id text not null, workspace text not null,
       chat_user text not null, record text not null, expires_at text not null)`,
    `create table chat_messages (message_id text primary key, connection_id text not null, subject text not null,
       thread text, wanted text not null, is_open integer not null, version integer not null, sent_version integer not null, ts text,
       attempts integer not null, next_at_ms bigint not null, reason text, created_at text not null)`,
    'create unique index chat_messages_of on chat_messages (connection_id, subject)',
    'create index chat_messages_due on chat_messages (next_at_ms) where sent_version < version',
    'alter table audit_log add column chat text',
  ],
}
