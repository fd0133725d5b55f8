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
