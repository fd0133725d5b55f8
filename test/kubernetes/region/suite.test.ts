import { afterAll, beforeAll, describe, it } from 'vitest'
import { describeJobs } from '../../../testkit/jobs/suite.ts'
import { cluster } from '../../../testkit/kubernetes/cluster.ts'
import { builderSettings, ClusterInstallation } from '../../../testkit/kubernetes/cluster-installation.ts'
import { canPushImages, nodeImage, pushNodeImage } from '../../../testkit/kubernetes/pushed-images.ts'
import { describeFunctionLifecycle } from '../../../testkit/platform/function-lifecycle-suite.ts'

const isWhole = cluster.kubeconfig && cluster.ingress && cluster.buildkit && canPushImages

// What the engines of a machine do too (test/real/installation), with one installation for both suites.
if (!isWhole) it.skip('a cluster region does what a machine does (no whole cluster here)', () => {})
else
  describe('in a cluster region', () => {
    const installation = new ClusterInstallation(
      { LONGSHORE_CLOCK_SCALE: '150' },
      { settings: builderSettings },
    )
    beforeAll(async () => {
      await pushNodeImage()
      await installation.start()
    })
    afterAll(() => installation.dispose())
    const place = { installation, region: 'eu', base: nodeImage }
    // Nothing of Longshore is in the path of requests: the ingress does not know a stopped function.
    // Knative averages over its window before it starts more containers.
    describeFunctionLifecycle({ ...place, stopped: 404, holdMs: 8_000, routesLater: true })
    describeJobs(place)
  })
