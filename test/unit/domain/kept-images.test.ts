import { expect, it } from 'vitest'
import type { Content } from '../../../src/domain/environments/environment.ts'
import { collectableContents } from '../../../src/domain/environments/kept-images.ts'

const content = (version: number, type: 'BUILD' | 'IMAGE' = 'BUILD') =>
  ({
    contentId: `dep_${version}`,
    version,
    type,
    images: { local: `image:${version}` },
  }) as unknown as Content
const rollout = (version: number, status: 'DEPLOYED' | 'FAILED' | 'BUILDING' | 'DEPLOYING' = 'DEPLOYED') => ({
  rolloutId: `rol_${version}`,
  contentId: `dep_${version}`,
  status,
})
const versions = (from: number, to: number) => Array.from({ length: to - from + 1 }, (_, step) => from + step)

const collected = (given: {
  contents: Content[]
  rollouts: ReturnType<typeof rollout>[]
  current?: number
  wanted?: number
  latest?: number
  inUse?: number[]
  kept: number
}) =>
  collectableContents({
    environment: {
      currentRolloutId: given.current ? `rol_${given.current}` : null,
      wantedRolloutId: given.wanted ? `rol_${given.wanted}` : null,
      latestRolloutId: given.latest ? `rol_${given.latest}` : null,
    },
    contents: given.contents,
    rollouts: given.rollouts,
    inUse: new Set((given.inUse ?? []).map((version) => `dep_${version}`)),
    keptVersions: given.kept,
  })
    .map(({ version }) => version)
    .sort((a, b) => a - b)

it('keeps the newest deployed versions', () => {
  const contents = versions(1, 6).map((version) => content(version))
  const rollouts = versions(1, 6).map((version) => rollout(version))
  expect(collected({ contents, rollouts, current: 6, latest: 6, kept: 3 })).toEqual([1, 2, 3])
})

it('keeps what runs, what is under way, the newest one and what containers or job runs are made of', () => {
  const contents = versions(1, 9).map((version) => content(version))
  const rollouts = [
    ...versions(1, 5).map((version) => rollout(version)),
    rollout(6, 'FAILED'),
    rollout(7, 'BUILDING'),
    rollout(8, 'DEPLOYING'),
    rollout(9, 'FAILED'),
  ]
  const given = { contents, rollouts, current: 1, wanted: 8, latest: 9, inUse: [2], kept: 1 }
  expect(collected(given)).toEqual([3, 4, 6])
})

it('leaves images of registries and versions without an image alone', () => {
  const contents = [content(1, 'IMAGE'), { ...content(2), images: {} }, content(3)]
  const rollouts = versions(1, 3).map((version) => rollout(version))
  expect(collected({ contents, rollouts, current: 3, latest: 3, kept: 1 })).toEqual([])
})
