import { describe, expect, it } from 'vitest'
import {
  configInputs,
  configOf,
  emptyConfig,
} from '../../../src/console/pages/contact-points/config-inputs.ts'
import { reasonWords, secondsWords, tookWords } from '../../../src/console/pages/jobs/run-words.ts'
import { changeOf, type JobDraft, valueWords } from '../../../src/console/pages/jobs/settings.ts'

describe('runs in words', () => {
  it('writes spans in their two largest units', () => {
    expect([0, 45, 60, 125, 5_400, 90_000, 604_800].map(secondsWords)).toEqual([
      '0 s',
      '45 s',
      '1 min',
      '2 min 5 s',
      '1 h 30 min',
      '1 d 1 h',
      '7 d',
    ])
    expect(secondsWords(3_605)).toBe('1 h')
  })

  it('counts a run that goes on up to now, and never below zero', () => {
    const start = '2026-03-01T12:00:00.000Z'
    const now = Date.parse('2026-03-01T12:01:10.000Z')
    expect(tookWords(start, null, now)).toBe('1 min 10 s')
    expect(tookWords(start, '2026-03-01T12:00:05.000Z', now)).toBe('5 s')
    expect(tookWords(start, null, now - 3_600_000)).toBe('0 s')
  })

  it('leaves out a reason that only repeats the status', () => {
    expect(reasonWords({ status: 'CANCELED', reason: 'Canceled' })).toBeNull()
    expect(reasonWords({ status: 'FAILED', reason: 'OOMKilled' })).toBe('OOMKilled')
    expect(reasonWords({ status: 'SUCCEEDED', reason: null })).toBeNull()
  })
})

describe('job settings', () => {
  it('sends what was edited in its type, and clears what was emptied', () => {
    const draft = { command: 'node', args: 'a b\n\nc', shell: 'false', timeoutSeconds: '90' } as JobDraft
    const names = ['command', 'args', 'shell', 'timeoutSeconds'] as const
    expect(changeOf({ ...draft, workingDir: '' }, [...names, 'workingDir'])).toEqual({
      command: 'node',
      args: ['a b', 'c'],
      shell: false,
      timeoutSeconds: 90,
      clear: ['workingDir'],
    })
  })

  it('shows values with their units', () => {
    expect(valueWords('seconds', 1_800)).toBe('30 min')
    expect(valueWords('switch', false)).toBe('off')
    expect(valueWords('lines', ['one', 'two'])).toBe('one two')
    expect(valueWords('count', null)).toBe('not set')
  })
})

describe('settings of a contact point', () => {
  it('sends what was filled in, and an empty value for what is removed', () => {
    const typed = { ...emptyConfig, webhookUrl: ' https://chat.example.com/x ', mentionUsers: 'U1, U2' }
    expect(configOf(configInputs.chat, typed, ['channel'])).toEqual({
      webhookUrl: 'https://chat.example.com/x',
      channel: '',
      mentionUsers: ['U1', 'U2'],
    })
    expect(configOf(configInputs.chat, emptyConfig, ['mentionUsers'])).toEqual({ mentionUsers: [] })
  })
})
