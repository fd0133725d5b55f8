import { Badge } from '../../components/Badge.tsx'
import type { Column } from '../../components/Table.tsx'
import { Time } from '../../components/Time.tsx'

interface Delivery {
  at: string
  ok: boolean
  reason?: string | undefined
}

export const sentAt: Column<Delivery> = { title: 'When', cell: ({ at }) => <Time at={at} /> }

export const delivery: Column<Delivery> = {
  title: 'Delivery',
  cell: ({ ok, reason }) => (
    <>
      <Badge tone={ok ? 'ok' : 'bad'}>{ok ? 'Delivered' : 'Failed'}</Badge>{' '}
      <span className="small">{reason}</span>
    </>
  ),
}
