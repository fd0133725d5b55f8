import type { Migration } from './migration.ts'

/** The control plane that receives an upload, the transfer, and until when others leave it to that one. */
export const uploadClaims: Migration = {
  name: 'upload claims',
  statements: [
    'alter table uploads add column claim text',
    'alter table uploads add column claim_node text',
    'alter table uploads add column claimed_until text',
  ],
}
