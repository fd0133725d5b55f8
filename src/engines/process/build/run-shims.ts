import { mkdirSync, writeFileSync } from 'node:fs'
import path from 'node:path'

const changesOwners = 'adduser addgroup useradd groupadd usermod groupmod chown chgrp'.split(' ')
const installsPackages = 'apt apt-get apk yum dnf microdnf zypper pacman dpkg rpm'.split(' ')

/**
 * Writes stand-ins for commands that would change the machine itself, first in PATH of every RUN. They protect
 * against accidents in honest Dockerfiles where the machine offers no private root.
 */
export function writeShims(dir: string): void {
  mkdirSync(dir, { recursive: true, mode: 0o700 })
  for (const name of changesOwners)
    writeShim(dir, name, `echo "${name}: skipped, the process engine has one user"\nexit 0`)
  for (const name of [...installsPackages, 'corepack'])
    writeShim(
      dir,
      name,
      `echo "${name}: the process engine does not install system packages, they would go into this machine; LONGSHORE_ENGINE=docker can" >&2\nexit 1`,
    )
}

function writeShim(dir: string, name: string, body: string): void {
  writeFileSync(path.join(dir, name), `#!/bin/sh\n${body}\n`, { mode: 0o755 })
}
