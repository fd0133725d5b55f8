import { createPrivateKey, X509Certificate } from 'node:crypto'
import { readFile } from 'node:fs/promises'
import type { Clock } from '../../clock.ts'
import type { TlsSetting } from '../../config/gateway.ts'
import { certificateFacts } from '../../domain/domains/certificate.ts'
import type { Certificate } from '../../gateway/control/protocol.ts'
import type { Log } from '../../log.ts'
import { Worker } from '../../worker.ts'

const everyMs = 5_000

/** Gives the gateway the certificate of two files, and again when they change, such as after a renewal. */
export function watchCertificateFile(
  { certificate, key }: TlsSetting,
  { clock, log }: { clock: Clock; log: Log },
  set: (certificates: readonly Certificate[]) => void,
): Worker {
  let known = ''
  const worker = new Worker({
    clock,
    everyMs,
    async pass() {
      const [chain, keyText] = await Promise.all([certificate, key].map((file) => readFile(file, 'utf8')))
      if (chain === undefined || keyText === undefined || known === chain + keyText) return
      const found = { names: certificateFacts(new X509Certificate(chain)).names, chain, key: keyText }
      // Two files cannot be replaced at once.
      if (!new X509Certificate(chain).checkPrivateKey(createPrivateKey(keyText))) return
      set([found])
      known = chain + keyText
    },
    failed: (error) => log.error({ err: error, certificate }, 'the certificate cannot be read; retrying'),
  })
  worker.start()
  worker.wake()
  return worker
}
