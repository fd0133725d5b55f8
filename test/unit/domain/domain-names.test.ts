import { describe, expect, it } from 'vitest'
import { normalDomain, refuseForeignNames } from '../../../src/domain/domains/name.ts'

describe('domain-names', () => {
  it.each([
    ['Shop.Example.COM.', 'shop.example.com'],
    ['bücher.example', 'xn--bcher-kva.example'],
    ['BÜCHER.example', 'xn--bcher-kva.example'],
    ['日本語タイトル.example', 'xn--ecktc2a4k552ycvb2w6i.example'],
    ['пример.example', 'xn--e1afmkfd.example'],
    ['*.Example.com', '*.example.com'],
  ])('domain-names %s is %s', (given, stored) => {
    expect(normalDomain(given)).toBe(stored)
  })

  it.each([
    'com',
    '127.0.0.1',
    '0x7f.1',
    '[::1]',
    'http://shop.example.com',
    'shop.example.com:443',
    'shop.example.com/x',
    'user@shop.example.com',
    'a..example.com',
    '-a.example.com',
    '*.*.example.com',
    'a*.example.com',
    'shop.example.com\r\nx',
    `${'a'.repeat(64)}.example.com`,
    `${'a.'.repeat(130)}com`,
    'shop.example.%63om',
  ])('domain-names %j is refused', (given) => {
    expect(() => normalDomain(given)).toThrow('This is not a domain name')
  })

  it.each(['аpple.com', 'pаypal.example', 'xn--pple-43d.com', 'gооgle.example', 'αpple.example'])(
    'domain-names %s, which mixes scripts, is refused and named in ASCII',
    (given) => {
      expect(() => normalDomain(given)).toThrow(
        expect.objectContaining({ details: expect.stringMatching(/^In ASCII it is xn--/) }),
      )
    },
  )

  it.each(['app.localhost', 'x.apps.example.org', 'console.example.org', 'x.localhost', 'printer.local'])(
    'domain-names %s is a name of the platform, or of one network',
    async (name) => {
      const own = { domains: ['app.localhost', 'apps.example.org'], host: 'console.example.org' }
      await expect(refuseForeignNames(name, own)).rejects.toThrow('belongs to the platform')
    },
  )

  it.each(['co.uk', '*.co.uk', 'github.io', '*.com', 'com.br'])(
    'domain-names %s is a public suffix',
    async (name) => {
      await expect(refuseForeignNames(name, { domains: [], host: null })).rejects.toThrow('public suffix')
    },
  )

  it('domain-names a name beside those of the platform is taken', async () => {
    const own = { domains: ['apps.example.org'], host: 'console.example.org' }
    for (const name of ['example.org', 'shop.console.example.org', 'myapps.example.org', 'me.github.io'])
      await refuseForeignNames(name, own)
  })
})
