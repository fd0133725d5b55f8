import { readFileSync } from 'node:fs'
import { describe, expect, it } from 'vitest'
import { toolRanking } from '../../../testkit/mcp/rank-tools.ts'
import { tools } from '../../../tools/index.ts'

/** Requests in people's words, by the tool that serves them. The descriptions were tuned on two thirds of them. */
const requests: Record<string, string[]> = JSON.parse(readFileSync('evals/tool-requests.json', 'utf8'))
const all = Object.entries(requests).flatMap(([tool, texts]) => texts.map((text) => ({ tool, text })))
const heldOut = all.filter((_, index) => index % 3 === 2)

type Described = { name: string; description: string }

/** The shares of requests whose tool is the first, and one of the first three. */
function sharesOf(
  described: readonly Described[],
  requests: typeof all,
): { first: number; firstThree: number } {
  const rank = toolRanking(described)
  const places = requests.map(({ tool, text }) => rank(text).indexOf(tool))
  const share = (most: number) =>
    places.filter((place) => place >= 0 && place < most).length / requests.length
  return { first: share(1), firstThree: share(3) }
}

/** Each tool with the description of another. */
function shuffled(distance: number): Described[] {
  return tools.map(({ name }, index) => ({
    name,
    description: tools[(index + distance) % tools.length]!.description,
  }))
}

describe('descriptions of tools', () => {
  it('are found by requests in the words of people', () => {
    expect(Object.keys(requests).sort()).toEqual(tools.map(({ name }) => name).sort())
    expect(new Set(all.map(({ text }) => text)).size).toBe(all.length)
    expect(all.length).toBeGreaterThanOrEqual(300)
    const { first, firstThree } = sharesOf(tools, all)
    expect(first).toBeGreaterThanOrEqual(0.6)
    expect(firstThree).toBeGreaterThanOrEqual(0.85)
  })

  it('are found by the third of the requests whose results no change of a description looked at', () => {
    const { first, firstThree } = sharesOf(tools, heldOut)
    expect(first).toBeGreaterThanOrEqual(0.5)
    expect(firstThree).toBeGreaterThanOrEqual(0.7)
  })

  it.each([7, 23, 41])(
    'of other tools are not found, so the names alone do not pass (shifted by %i)',
    (by) => {
      expect(sharesOf(shuffled(by), all).first).toBeLessThan(0.2)
    },
  )
})
