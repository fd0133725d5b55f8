import { expect, it } from 'vitest'
import { readableBytes } from '../../../src/amounts.ts'
import { createProgress, printable, readableDuration } from '../../../src/cli/progress.ts'

function screen(columns = 40) {
  return {
    text: '',
    columns,
    write(text: string) {
      this.text += text
    },
  }
}

it('keeps one line up to date in a terminal and lets log lines pass above it', () => {
  const stream = screen()
  const progress = createProgress(stream, { interactive: true })
  progress.stage('Building')
  progress.line('step 1')
  progress.update('1 s')
  progress.done('Built')
  expect(stream.text).toBe(
    '… Building\r\u001b[K  step 1\n… Building\r\u001b[K… Building 1 s\r\u001b[K✓ Built\n',
  )
})

it('never writes a line wider than the terminal, which it could not take back', () => {
  const stream = screen(30)
  const progress = createProgress(stream, { interactive: true })
  progress.stage('x'.repeat(200))
  expect(stream.text.length).toBeLessThan(30)
})

it('writes plain lines elsewhere and repeats updates only now and then', () => {
  const stream = screen()
  let nowMs = 0
  const progress = createProgress(stream, { interactive: false, nowMs: () => nowMs })
  progress.stage('Uploading')
  for (nowMs = 100; nowMs <= 12_000; nowMs += 100) progress.update(`${nowMs}`)
  progress.done('Uploaded')
  expect(stream.text.split('\n')).toEqual([
    '… Uploading',
    '… Uploading 5000',
    '… Uploading 10000',
    '✓ Uploaded',
    '',
  ])
  expect(stream.text).not.toContain('\u001b')
})

it('lets no escape sequence, control, direction or tag character of others reach the terminal', () => {
  expect(printable('a\u001b[2J\u001b]0;title\u0007bc\u202ed\u200be\u{e0041}f\tg')).toBe('abcdef    g')
  expect(printable('a\u061cb\u180e\u3164c\u{e0141}\ufff9d')).toBe('abcd')
  expect(printable('one\r\ntwo\nthree')).toBe('one two three')
  expect(printable('ünïcode 🚢 ok')).toBe('ünïcode 🚢 ok')
})

it('writes each line of a text of several', () => {
  const stream = screen()
  createProgress(stream, { interactive: false }).line('one\ntwo')
  expect(stream.text).toBe('  one\n  two\n')
})

it('says sizes and durations for people', () => {
  expect([999, 34_200, 1_250_000, 2.5e9].map(readableBytes)).toEqual(['999 B', '34 kB', '1.3 MB', '2.50 GB'])
  expect([320.4, 12_345, 125_000].map(readableDuration)).toEqual(['320 ms', '12.3 s', '2 min 5 s'])
})
