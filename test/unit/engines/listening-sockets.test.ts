import { expect, it } from 'vitest'
import { isWildcard, parseListening, socketText } from '../../../src/engines/listening-sockets.ts'
import { isLoopback } from '../../../src/loopback.ts'

const header =
  '  sl  local_address rem_address   st tx_queue rx_queue tr tm->when retrnsmt   uid  timeout inode\n'
const row = (local: string, state: string, inode: number) =>
  `   0: ${local} 00000000:0000 ${state} 00000000:00000000 00:00000000 00000000     0        0 ${inode} 1 0 100 0 0 10 0\n`

const parse = (...rows: string[]) => [...parseListening(header + rows.join('')).values()]

it('reads listening sockets of /proc/net/tcp with the address they are bound to', () => {
  const text = header + row('0100007F:0BB8', '0A', 11) + row('00000000:1F90', '0A', 12)
  expect([...parseListening(text)]).toEqual([
    ['11', { address: '127.0.0.1', port: 3000 }],
    ['12', { address: '0.0.0.0', port: 8080 }],
  ])
})

it('leaves out connections, and takes an empty table', () => {
  expect(parse(row('0100007F:0BB8', '01', 11))).toEqual([])
  expect([...parseListening('')]).toEqual([])
})

it('reads IPv6: all interfaces, loopback, IPv4-mapped, and another address', () => {
  const sockets = parse(
    row(`${'0'.repeat(32)}:0050`, '0A', 1),
    row('00000000000000000000000001000000:0050', '0A', 2),
    row('0000000000000000FFFF00000100007F:0050', '0A', 3),
    row('B80D0120000000000000000001000000:0050', '0A', 4),
  )
  expect(sockets.map(({ address }) => address)).toEqual(['::', '::1', '127.0.0.1', '2001:db8::1'])
  expect(sockets.map(socketText)).toEqual(['[::]:80', '[::1]:80', '127.0.0.1:80', '[2001:db8::1]:80'])
})

it('tells loopback and all interfaces from other addresses', () => {
  expect(['127.0.0.1', '127.0.1.1', '::1'].every(isLoopback)).toBe(true)
  expect(['0.0.0.0', '::', '10.0.0.127', '2001:db8::1'].some(isLoopback)).toBe(false)
  expect(['0.0.0.0', '::', '127.0.0.1', '10.0.0.1'].map(isWildcard)).toEqual([true, true, false, false])
})
