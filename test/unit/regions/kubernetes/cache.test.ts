import { expect, it } from 'vitest'
import { partsOfWorkload } from '../../../../src/regions/kubernetes/cache.ts'
import { heldAnnotation } from '../../../../src/regions/kubernetes/manifests/workload.ts'

it('keeps of the template of a workload whether it is held, and nothing else of its annotations', () => {
  const metadata = { name: 'shop-prod', namespace: 'ls-1', uid: '1' }
  const partsOf = (annotations: Record<string, string>) => {
    const template = { metadata: { labels: { a: 'b' }, annotations } }
    return partsOfWorkload({ metadata, spec: { replicas: 0, template } }).spec?.template?.metadata
  }
  expect(partsOf({ [heldAnnotation]: 'true', 'example.com/long': 'x' })).toEqual({
    labels: { a: 'b' },
    annotations: { [heldAnnotation]: 'true' },
  })
  expect(partsOf({ 'example.com/long': 'x' })).toEqual({ labels: { a: 'b' } })
})
