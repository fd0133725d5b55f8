import { Readable } from 'node:stream'
import { expect, it } from 'vitest'
import { cutMark, longestLine } from '../../../src/domain/environments/log-lines.ts'
import { linesIn } from '../../../src/engines/line-splitter.ts'

it('a program that writes no line feed fills no memory: its line is cut', async () => {
  const chunks = Array.from({ length: 200 }, () => Buffer.alloc(64 * 1024, 'y'))
  const lines: string[] = []
  const given = [Buffer.from('first\r\n'), ...chunks, Buffer.from('\nlast')]
  for await (const line of linesIn(Readable.from(given))) lines.push(line)
  expect(lines.map(({ length }) => length <= longestLine)).toEqual([true, true, true])
  expect([lines[0], lines[1]?.endsWith(cutMark), lines[2]]).toEqual(['first', true, 'last'])
})
