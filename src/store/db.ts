import type { Generated, Kysely } from 'kysely'

/** JSON columns are strings here; each repository parses them into domain types. */
export interface Tables {
  installation: { key: string; value: string }
  data_keys: { key_id: string; wrapped: string; created_at: string }
  users: { user_id: string; email: string; name: string; created_at: string }
  accounts: {
    account_id: string
    name: string
    slug: string
    settings: string
    revision: number
    policy_revision: Generated<number>
    created_at: string
  }
  memberships: {
    membership_id: string
    account_id: string
    user_id: string
    admin: number
    manage_members: number
    allowed_app_env_ids: string
    revision: number
    created_at: string
    /** Null once accepted. */
    invitation_id: string | null
    invited_by: string | null
  }
  tokens: {
    hash: string
    kind: 'user' | 'environment'
    user_id: string | null
    app_env_id: string | null
    created_at: string
    token_id: string | null
    name: string
    read_only: number
    /** Null for a token that does not expire. */
    expires_at: string | null
    access: string | null
  }
  token_uses: { token_id: string; used_at: string }
  apps: {
    app_id: string
    account_id: string
    created_by: string | null
    record: string
    revision: number
    created_at: string
  }
  app_envs: {
    app_env_id: string
    app_id: string
    account_id: string
    cli_env_name: string
    status: string
    /** zClouds x containers, as counted for the account's limit. */
    size: number
    /** The record's region, for the machines that run only some of them. */
    region: Generated<string>
    /** Another region with a part of the environment: it serves there while it moves, or has left a volume there. */
    other_region: Generated<string | null>
    /** While it moves and serves: the region where it does. */
    served_from: Generated<string | null>
    record: string
    revision: number
    created_at: string
  }
  contents: { content_id: string; app_env_id: string; version: number; record: string; created_at: string }
  rollouts: {
    rollout_id: string
    app_env_id: string
    content_id: string
    status: string
    record: string
    created_at: string
  }
  pods: {
    pod_id: string
    app_env_id: string
    rollout_id: string
    desired_state: string
    record: string
    created_at: string
  }
  database_ports: { port: number; app_env_id: string }
  variable_references: { app_env_id: string; source_id: string }
  job_runs: {
    job_run_id: string
    app_env_id: string
    number: number
    status: string
    record: string
    created_at: string
  }
  job_attempts: {
    attempt_id: string
    job_run_id: string
    app_env_id: string
    number: number
    state: string
    record: string
    created_at: string
  }
  activities: {
    activity_id: string
    app_env_id: string
    at: string
    record: string
  }
  audit_log: {
    /** Assigned by the store: ascending within an account, possibly with gaps. */
    seq: Generated<number>
    entry_id: string
    at: string
    account_id: string | null
    principal: string
    surface: string
    operation: string
    object_type: string
    object_id: string
    before: string
    after: string
    outcome: string
    previous_hash: string
    hash: string
    token_id: string | null
    session_id: string | null
    trace_id: string | null
    agent: string | null
    confirmed_by: string | null
    undid: string | null
    impact: string | null
    decision: string | null
    /** The approval that the call ran by. */
    approval_id: string | null
    remediation_run_id: string | null
    client_address: string | null
    /** The chat user and workspace of a call from a chat, as JSON. */
    chat: string | null
  }
  audit_heads: { account_id: string; record: string }
  container_counts: { app_env_id: string; at_ms: number; desired: number; ready: number }
  container_runs: {
    container: string
    app_env_id: string
    account_id: string
    z_clouds: number
    rate_multiplier: number
    started_ms: number
    finished_ms: number | null
    /** The machine that meters it, where several share the store. */
    node: string | null
    /** When it was last seen running while other containers of its machine could not be listed. */
    seen_ms: number | null
  }
  usage_hours: {
    app_env_id: string
    hour_ms: number
    account_id: string
    container_seconds: number
    z_cloud_seconds: number
    billed_z_cloud_seconds: number
  }
  alerts: {
    alert_id: string
    app_env_id: string
    account_id: string
    enabled: number
    record: string
    revision: number
    created_at: string
  }
  alert_contact_points: { alert_id: string; app_env_id: string; contact_point_id: string }
  alert_states: {
    alert_id: string
    app_env_id: string
    state: string
    held_ms: number
    episode: number
    is_open: number
    flaps: number
    calm_ms: number
    started_at: string | null
    checked_at: string | null
    /** 1 if the evaluator's cycles include it: then its last check is the time of the last cycle. */
    in_cycle: number
    version: number
  }
  alert_history: {
    alert_id: string
    version: number
    app_env_id: string
    at: string
    from_state: string
    to_state: string
    value: number | null
  }
  notifications: {
    notification_id: string
    event_id: string
    alert_id: string | null
    app_env_id: string | null
    account_id: string
    contact_point_id: string
    event: string
    /** Notifications of one alert to one contact point are sent in this order. */
    ordinal: number
    dedup_key: string
    body: string
    /** `dropped`: its alert was deleted while it was paused. */
    status: 'due' | 'delivered' | 'dead' | 'dropped'
    attempts: number
    /** Monotonic time spent on attempts, including waits, in milliseconds. */
    spent_ms: number
    next_at_ms: number
    last_at: string | null
    reason: string | null
    created_at: string
  }
  backups: {
    backup_id: string
    app_env_id: string
    account_id: string
    status: string
    record: string
    created_at: string
  }
  restores: {
    restore_id: string
    backup_id: string
    app_env_id: string
    status: string
    record: string
    created_at: string
  }
  console_sessions: {
    session_hash: string
    token_id: string
    user_id: string
    created_at: string
    used_at: string
    expires_at: string
    signed_in_by: string | null
    proved_at: string | null
    user_agent: string | null
    client_address: string | null
  }
  secret_requests: {
    code_hash: string
    app_env_id: string
    variable: string
    token_id: string
    expires_at: string
  }
  console_links: { code_hash: string; token_id: string; user_id: string; expires_at: string }
  /** The control plane of each machine, by the name of the machine. Times are those of the database's clock. */
  instances: {
    node: string
    instance_id: string
    /** Host and data directory: a new process of the same place proves that the old one is gone. */
    place: string
    record: string
    started_ms: number
    seen_ms: number
  }
  /** `token` grows with each change of the holder; an empty `instance_id` is a lease that was given back. */
  leases: { name: string; instance_id: string; token: number; since_ms: number }
  idempotency: {
    principal: string
    key: string
    request_hash: string
    status: number
    body: string
    created_at: string
    run_id: string | null
  }
}

export type Tx = Kysely<Tables>

/** The port to the database. Two adapters pass one suite: SQLite (embedded) and PostgreSQL (shared). */
export interface Db {
  /** Reads from one snapshot of the store. `work` uses `tx` only: in the embedded store, a write waits until it ends. */
  read<T>(work: (tx: Tx) => Promise<T>): Promise<T>
  /**
   * One transaction: everything is stored if the promise resolves, and nothing if it rejects. `work` runs again if it
   * conflicts with another transaction, so it must have no effect except through `tx`.
   */
  write<T>(work: (tx: Tx) => Promise<T>): Promise<T>
  /** Like `write`, but rolled back; resolves with the result of `work`. */
  rehearse<T>(work: (tx: Tx) => Promise<T>): Promise<T>
  close(): Promise<void>
}
