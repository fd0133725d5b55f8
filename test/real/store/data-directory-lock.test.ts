import { spawn } from 'node:child_process'
import {
  cpSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  renameSync,
  rmSync,
  writeFileSync,
} from 'node:fs'
import os from 'node:os'
import path from 'node:path'
import { afterEach, beforeEach, expect, it } from 'vitest'
import { lockHolder } from '../../../src/lock-holder.ts'
import { lockHome, openHome, requireHome } from '../../../src/store/data-directory.ts'

let root: string
beforeEach(() => {
  root = mkdtempSync(path.join(os.tmpdir(), 'longshore-lock-'))
})
afterEach(() => rmSync(root, { recursive: true, force: true }))

const made = (name: string) => openHome(path.join(root, name)).dir

it('one process locks a data directory, also after it was moved; a copy of it is free', () => {
  const home = made('home')
  const unlock = lockHome(home)
  expect(() => lockHome(home)).toThrow(`process ${process.pid}`)
  const copy = path.join(root, 'copy')
  cpSync(home, copy, { recursive: true })
  expect(lockHolder(copy)).toBeNull()
  lockHome(copy)()
  const moved = path.join(root, 'moved')
  renameSync(home, moved)
  expect(lockHolder(moved)).toBe(process.pid)
  renameSync(moved, home)
  unlock()
  expect(lockHolder(home)).toBeNull()
})

it('a lock whose pid was reused is free; a lock of an older version is still read', () => {
  const home = made('home')
  const unlock = lockHome(home)
  const lock = path.join(home, 'run', 'lock')
  const [pid, started] = readFileSync(lock, 'utf8').split(' ')
  writeFileSync(lock, `${pid} ${started}\n`)
  expect(lockHolder(home)).toBe(process.pid)
  const other = spawn(process.execPath, ['-e', 'setInterval(() => {}, 1e6)'])
  try {
    // The number of one process with the start of another, as after a restart of the machine.
    writeFileSync(lock, `${other.pid} 1\n`)
    expect(lockHolder(home)).toBeNull()
  } finally {
    other.kill('SIGKILL')
  }
  unlock()
})

it('a lock that cannot be read is not taken for a free one', () => {
  const home = made('home')
  mkdirSync(path.join(home, 'run', 'lock'))
  expect(() => lockHolder(home)).toThrow('EISDIR')
})

it('a missing data directory is reported and not created', () => {
  const typo = path.join(root, 'hoem')
  expect(() => requireHome(typo)).toThrow(`There is no installation at ${typo}`)
  expect(existsSync(typo)).toBe(false)
  expect(() => requireHome(made('home'))).not.toThrow()
})
