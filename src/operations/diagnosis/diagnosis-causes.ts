import { diagnosisCauses, listDiagnosisCauses } from '../../contract/diagnosis.ts'
import { catalog } from '../../domain/diagnosis/catalog.ts'
import { handler } from '../core/handler.ts'

export default handler(listDiagnosisCauses, async () => ({
  answer: { causes: diagnosisCauses.map((cause) => ({ cause, ...catalog[cause] })) },
}))
