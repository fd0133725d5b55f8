import { spawn } from 'node:child_process'
import { cpSync, existsSync, mkdtempSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs'
import os from 'node:os'
import path from 'node:path'
import { afterEach, beforeEach, expect, it } from 'vitest'
import { lockHome, openHome, requireHome, servingPid } from '../../../src/store/data-directory.ts'

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
  expect(servingPid(copy)).toBeNull()
  lockHome(copy)()
  const moved = path.join(root, 'moved')
  renameSync(home, moved)
  expect(servingPid(moved)).toBe(process.pid)
  renameSync(moved, home)
  unlock()
  expect(servingPid(home)).toBeNull()
})

it('a lock whose pid was reused is free; a lock of an older version is still read', () => {
  const home = made('home')
  const unlock = lockHome(home)
  const lock = path.join(home, 'run', 'lock')
  const [pid, started] = readFileSync(lock, 'utf8').split(' ')
  writeFileSync(lock, `${pid} ${started}\n`)
  expect(servingPid(home)).toBe(process.pid)
  const other = spawn(process.execPath, ['-e', 'setInterval(() => {}, 1e6)'])
  try {
    // The number of one process with the start of another, as after a restart of the machine.
    writeFileSync(lock, `${other.pid} 1\n`)
    expect(servingPid(home)).toBeNull()
  } finally {
    other.kill('SIGKILL')
  }
  unlock()
})

it('a missing data directory is reported and not created', () => {
  const typo = path.join(root, 'hoem')
  expect(() => requireHome(typo)).toThrow(`There is no installation at ${typo}`)
  expect(existsSync(typo)).toBe(false)
  expect(() => requireHome(made('home'))).not.toThrow()
})
