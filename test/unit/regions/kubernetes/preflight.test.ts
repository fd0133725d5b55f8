import { expect, it } from 'vitest'
import { preflight } from '../../../../src/regions/kubernetes/preflight.ts'

const clientWhere = (silent: string) =>
  ({
    read: async (path: string) => {
      if (path.startsWith(silent)) throw new Error('no answer in 15 s')
      return {}
    },
  }) as never
const options = { buildProblem: async () => null }

it('misses autoscaling alone while the metrics server does not answer', async () => {
  const { missing } = await preflight(clientWhere('apis/metrics.k8s.io'), options)
  expect(missing).toEqual([{ capability: 'autoscaling', reason: expect.stringContaining('metrics server') }])
  await expect(preflight(clientWhere('apis/serving.knative.dev'), options)).rejects.toThrow('no answer')
})

it('F5 publishes the domain that Knative serves, and says where the regions file differs', async () => {
  const wanted = { ...options, functionDomain: 'fn.example.com' }
  const where = (data: Record<string, string> | null) =>
    ({
      read: async (path: string) => {
        if (!path.endsWith('/config-domain')) return {}
        if (!data) throw new Error('may not be read')
        return { data }
      },
    }) as never
  const missing = async (data: Record<string, string> | null) => {
    const facts = await preflight(where(data), wanted)
    return [facts.functionDomain, ...facts.missing.map(({ reason }) => reason)]
  }
  expect(
    await missing({ _example: '', 'fn.example.com': '', 'a.example.com': 'selector:\n  app: x' }),
  ).toEqual(['fn.example.com'])
  expect(await missing({ 'other.example.com': '' })).toEqual([
    'other.example.com',
    expect.stringMatching(
      /^Knative serves functions below other\.example\.com, and functionDomain .* fn\.example\.com/,
    ),
  ])
  expect((await missing({}))[0]).toBe('svc.cluster.local')
  expect(await missing(null)).toEqual([null])
})
