import { cancelJobRun } from '../../../contract/jobs.ts'
import { ConfirmWrite } from '../../components/ConfirmWrite.tsx'

export function CancelRun({ jobRunId, onClose }: { jobRunId: string; onClose: () => void }) {
  return (
    <ConfirmWrite
      row={cancelJobRun}
      input={{ jobRunId }}
      title="Cancel this run?"
      action="Cancel run"
      dismiss="Let it run"
      danger
      done={({ jobRun: { status } }) =>
        status === 'CANCELED' ? 'The run is canceled.' : 'The run was over before it could be canceled.'
      }
      onClose={onClose}
    />
  )
}
