const ask = `set -eu
ask() { psql -X -q -A -t -v ON_ERROR_STOP=1 "$@"; }
`

export const dump = 'exec pg_dump --format=custom --dbname="$LS_DATABASE"'

export const dumpStructure =
  'exec pg_dump --format=custom --schema-only --no-owner --no-acl --dbname="$LS_DATABASE"'

/** Loads a structure into a database of its own. */
export const checkStructure = `${ask}
clean() { ask -c 'drop database if exists ls_check with (force)'; }
clean
ask -c 'create database ls_check template template0'
trap 'code=$?; trap - EXIT; clean || true; exit $code' EXIT
pg_restore --exit-on-error --no-owner --no-acl --dbname=ls_check
`

/** What roles other than the user own and may do in the database, and its settings. The server records this per role. */
export const access = `${ask}
ask -d "$LS_DATABASE" <<'SQL'
select json_build_object(
  'user', current_user,
  'roles', coalesce((
    select json_agg(json_build_object('name', name, 'owns', owns, 'granted', granted) order by name)
    from (
      select rolname as name, count(*) filter (where deptype = 'o') as owns, count(*) filter (where deptype <> 'o') as granted
      from pg_shdepend join pg_roles on pg_roles.oid = refobjid
      where refclassid = 'pg_authid'::regclass and rolname <> current_user
        and dbid = (select oid from pg_database where datname = current_database())
      group by rolname
    ) as used), '[]'),
  'settings', coalesce((
    select json_agg(distinct split_part(setting, '=', 1))
    from pg_db_role_setting, unnest(setconfig) setting
    where setdatabase = (select oid from pg_database where datname = current_database())), '[]'),
  'limitsConnections', (
    select datconnlimit <> -1 or datacl is not null from pg_database where datname = current_database()))
SQL
`

/**
 * Loads beside the old data, then swaps in one transaction: a failed load changes nothing, and a comment keeps a completed
 * one from being repeated. Roles that the server lacks get stand-ins, because a list of grants fails as a whole, with its
 * revocations; they go with what they own and may do. Owner, limit, grants and settings of the database stay.
 */
export const load = `${ask}
done_before=$(ask -c "select 1 from pg_database where datname = '$LS_DATABASE' and shobj_description(oid, 'pg_database') = 'longshore $LS_RESTORE_ID'")
if [ "$done_before" = 1 ]; then
  cat > /dev/null
  exit 0
fi
drop_stand_ins() { ask -d "$1" <<'SQL' > /dev/null
select format(line, rolname) from pg_roles,
  unnest(array['reassign owned by %I to current_user', 'drop owned by %I', 'drop role %I']) with ordinality as lines(line, nth)
where shobj_description(oid, 'pg_authid') = 'longshore stand-in' order by oid, nth \\gexec
SQL
}
clean() {
  ask -c 'drop database if exists ls_restore_new with (force)'
  ask -c 'drop database if exists ls_restore_old with (force)'
  drop_stand_ins postgres
}
clean
ask -c 'create database ls_restore_new template template0'
trap 'code=$?; trap - EXIT; [ $code = 0 ] || clean || true; exit $code' EXIT
ask -v roles="$LS_ROLES" -v data="$LS_DATABASE" <<'SQL' > /dev/null
select format(line, name) from json_array_elements_text(:'roles') name,
  unnest(array['create role %I nologin', 'comment on role %I is ''longshore stand-in''']) with ordinality as lines(line, nth)
where not exists (select from pg_roles where rolname = name) order by name, nth \\gexec
select format('alter database ls_restore_new owner to %I', pg_get_userbyid(datdba))
  from pg_database where datname = :'data' \\gexec
select format('alter database ls_restore_new connection limit %s', datconnlimit)
  from pg_database where datname = :'data' \\gexec
select 'revoke all on database ls_restore_new from public'
  from pg_database where datname = :'data' and datacl is not null \\gexec
select format('grant %s on database ls_restore_new to %s%s', privilege_type,
    case grantee when 0 then 'public' else quote_ident(pg_get_userbyid(grantee)) end,
    case when is_grantable then ' with grant option' else '' end)
  from pg_database, aclexplode(datacl) where datname = :'data' \\gexec
insert into pg_db_role_setting select made.oid, setrole, setconfig
  from pg_db_role_setting, pg_database old, pg_database made
  where setdatabase = old.oid and old.datname = :'data' and made.datname = 'ls_restore_new';
SQL
pg_restore --exit-on-error $LS_ACCESS --dbname=ls_restore_new
drop_stand_ins ls_restore_new
swap() {
  ask <<SQL
alter database "$LS_DATABASE" with allow_connections false;
select from pg_stat_activity, pg_terminate_backend(pid) where datname in ('$LS_DATABASE', 'ls_restore_new');
begin;
alter database "$LS_DATABASE" rename to ls_restore_old;
alter database ls_restore_new rename to "$LS_DATABASE";
comment on database "$LS_DATABASE" is 'longshore $LS_RESTORE_ID';
commit;
SQL
}
if ! swap > /dev/null; then
  ask -c "alter database \\"$LS_DATABASE\\" with allow_connections true"
  exit 1
fi
ask -c 'drop database if exists ls_restore_old with (force)'
`

export const password = `${ask}
if PGPASSWORD="$LS_NEW_PASSWORD" ask -c 'select 1' > /dev/null 2>&1; then exit 0; fi
ask <<SQL
alter role current_user password '$LS_NEW_PASSWORD'
SQL
`

const emptySearchPath = "SELECT pg_catalog.set_config('search_path', '', false);"

/**
 * The dump with `RESET` in place of its empty search path, in the same length: with an empty path the functions of generated
 * columns, indexes, checks and materialized views find no tables that they name without a schema.
 */
export async function* withOwnSearchPath(dumped: AsyncIterable<Buffer>): AsyncGenerator<Buffer> {
  const wanted = Buffer.from(emptySearchPath)
  let held: Buffer | null = Buffer.alloc(0)
  for await (const chunk of dumped) {
    if (held === null) {
      yield chunk
      continue
    }
    const bytes: Buffer = Buffer.concat([held, chunk])
    const at = bytes.indexOf(wanted)
    const ready = at >= 0 ? bytes.length : Math.max(0, bytes.length - wanted.length)
    if (at >= 0) bytes.write(`${'RESET search_path'.padEnd(wanted.length - 1)};`, at)
    held = at >= 0 ? null : bytes.subarray(ready)
    yield bytes.subarray(0, ready)
  }
  if (held !== null) yield held
}
