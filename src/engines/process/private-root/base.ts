import {
  chmodSync,
  copyFileSync,
  existsSync,
  lstatSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  readlinkSync,
  renameSync,
  rmSync,
  statSync,
  symlinkSync,
  utimesSync,
  writeFileSync,
} from 'node:fs'
import path from 'node:path'

/** The part of `/etc` that programs need: names, certificates, libraries, package managers. No keys, no passwords. */
const settings = (
  'adduser.conf alpine-release alternatives apk apt bash.bashrc ca-certificates ca-certificates.conf crypto-policies ' +
  'debconf.conf debian_version default deluser.conf dnf dpkg environment.d ethertypes fedora-release fonts gai.conf ' +
  'gss host.conf hostname hosts ImageMagick-6 ImageMagick-7 init.d issue java-17-openjdk java-21-openjdk ld.so.cache ' +
  'ld.so.conf ld.so.conf.d libaudit.conf locale.alias locale.conf locale.gen localtime login.defs lsb-release magic ' +
  'mime.types networks nsswitch.conf os-release pam.conf pam.d perl pki profile profile.d protocols python3 ' +
  'python3.10 python3.11 python3.12 python3.13 R redhat-release resolv.conf rpc rpm security/limits.conf ' +
  'security/limits.d selinux services shells skel ssl/certs ssl/openssl.cnf subgid subuid system-release terminfo ' +
  'timezone update-motd.d yum.repos.d'
).split(' ')

/** Changes while the machine runs, so each container takes the newest. A link of it may lead to a hidden folder. */
const volatileSettings = ['resolv.conf', 'hosts', 'ld.so.cache']

const plainFolders =
  'dev proc usr opt srv mnt media home run var/lib/apt/lists/partial var/cache/apt/archives/partial var/cache/debconf var/log'
const openFolders = ['tmp', 'var/tmp', 'run/lock']
const programFolders = ['bin', 'sbin', 'lib', 'lib32', 'lib64', 'libx32']
const packageRecords = ['/var/lib/dpkg', '/var/lib/rpm']

/** A private root begins with this folder; the machine's folders of programs are mounted in it. */
export interface RootBase {
  /** Lowest layer of `/`. */
  dir: string
  /** The machine's folders that appear read-only below the image's own. */
  programs: string[]
  /** Records of package managers, which only builds change. */
  records: string[]
}

/** Writes the folder, or brings it up to date file by file, because containers run on it. */
export function writeBase(dir: string): RootBase {
  for (const name of plainFolders.split(' ')) mkdirSync(path.join(dir, name), { recursive: true })
  for (const name of openFolders) {
    mkdirSync(path.join(dir, name), { recursive: true })
    chmodSync(path.join(dir, name), 0o1777)
  }
  mkdirSync(path.join(dir, 'root'), { recursive: true, mode: 0o700 })
  const programs = ['/usr']
  for (const name of programFolders) {
    const info = lstatSync(`/${name}`, { throwIfNoEntry: false })
    if (info?.isSymbolicLink()) follow(`/${name}`, path.join(dir, name))
    else if (info?.isDirectory()) {
      mkdirSync(path.join(dir, name), { recursive: true })
      programs.push(`/${name}`)
    }
  }
  const records = packageRecords.filter((name) => existsSync(name))
  for (const name of records) mkdirSync(path.join(dir, name), { recursive: true })
  follow('/run', path.join(dir, 'var/run'), '/run')
  for (const name of settings) follow(`/etc/${name}`, path.join(dir, 'etc', name))
  writeAccounts(path.join(dir, 'etc'))
  refreshBase(dir)
  return { dir, programs, records }
}

/** The upper folders of programs and records, without their files. */
export function copyFolders({ programs, records }: RootBase, to: string): void {
  const copy = (folder: string, depth: number) => {
    mkdirSync(path.join(to, folder), { recursive: true })
    if (depth === 0) return
    for (const name of readdirOrEmpty(folder)) {
      const below = path.join(folder, name)
      if (lstatSync(below, { throwIfNoEntry: false })?.isDirectory()) copy(below, depth - 1)
    }
  }
  for (const folder of programs) copy(folder, 3)
  for (const folder of records) copy(folder, 1)
}

export function refreshBase(dir: string): void {
  for (const name of volatileSettings) {
    const from = `/etc/${name}`
    if (existsSync(from)) followFile(from, path.join(dir, 'etc', name))
  }
}

/** The user of Node's official images; databases run as this user. */
const user = { passwd: 'node:x:1000:1000::/home/node:/bin/sh', group: 'node:x:1000:' }

/** Accounts of people are left out, and so are passwords. */
function writeAccounts(etc: string): void {
  const lines = (file: string) => (existsSync(file) ? readFileSync(file, 'utf8').split('\n') : [])
  const isSystem = (line: string) => {
    const id = Number(line.split(':')[2])
    return line !== '' && (id < 1000 || id === 65_534)
  }
  const users = [...lines('/etc/passwd').filter(isSystem), user.passwd]
  const groups = [...lines('/etc/group').filter(isSystem), user.group]
  const shadow = users.map((line) => `${line.split(':')[0]}:*:19000:0:99999:7:::`)
  replace(path.join(etc, 'passwd'), `${users.join('\n')}\n`, 0o644)
  replace(
    path.join(etc, 'group'),
    `${groups.map((line) => line.replace(/:[^:]*$/, ':')).join('\n')}\n`,
    0o644,
  )
  replace(path.join(etc, 'shadow'), `${shadow.join('\n')}\n`, 0o600)
}

function replace(file: string, text: string, mode: number): void {
  if (existsSync(file) && readFileSync(file, 'utf8') === text) return
  writeFileSync(`${file}.new`, text, { mode })
  renameSync(`${file}.new`, file)
}

/** Makes `to` what `from` is. What cannot be read is left out. */
function follow(from: string, to: string, target?: string): void {
  const info = lstatSync(from, { throwIfNoEntry: false })
  if (!info) {
    rmSync(to, { recursive: true, force: true })
    return
  }
  mkdirSync(path.dirname(to), { recursive: true })
  if (target !== undefined || info.isSymbolicLink()) {
    const leadsTo = target ?? readlinkSync(from)
    const there = lstatSync(to, { throwIfNoEntry: false })
    if (there?.isSymbolicLink() && readlinkSync(to) === leadsTo) return
    rmSync(to, { recursive: true, force: true })
    symlinkSync(leadsTo, to)
  } else if (info.isDirectory()) followFolder(from, to)
  else if (info.isFile()) followFile(from, to)
}

function followFolder(from: string, to: string): void {
  mkdirSync(to, { recursive: true })
  const names = readdirOrEmpty(from)
  for (const name of readdirSync(to)) {
    if (!names.includes(name)) rmSync(path.join(to, name), { recursive: true, force: true })
  }
  for (const name of names) follow(path.join(from, name), path.join(to, name))
}

function followFile(from: string, to: string): void {
  const info = statSync(from)
  const there = lstatSync(to, { throwIfNoEntry: false })
  if (there?.isFile() && there.size === info.size && there.mtimeMs === info.mtimeMs) return
  try {
    copyFileSync(from, `${to}.new`)
    utimesSync(`${to}.new`, info.atime, info.mtime)
    renameSync(`${to}.new`, to)
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'EACCES') throw error
  }
}

function readdirOrEmpty(dir: string): string[] {
  try {
    return readdirSync(dir)
  } catch {
    return []
  }
}
