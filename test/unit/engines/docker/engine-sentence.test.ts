import { describe, expect, it } from 'vitest'
import { engineSentence } from '../../../../src/engines/docker/client.ts'

describe('what a tenant sees of an error of the engine', () => {
  it.each([
    [
      'error parsing HTTP 404 response body: invalid character \'T\' looking for beginning of value: "The\nkeys"',
      'the server answered 404, not as a registry does',
    ],
    [
      'invalid from flag value 127.0.0.1:80/x: error parsing HTTP 500 response body: no error details found in HTTP response body: "{\\"key\\":1}"',
      'invalid from flag value 127.0.0.1:80/x: the server answered 500, not as a registry does',
    ],
    ['manifest unknown: manifest unknown', 'manifest unknown: manifest unknown'],
  ])('never has what another server answered: %s', (text, shown) => {
    expect(engineSentence(new Error(text))).toBe(shown)
  })
})
