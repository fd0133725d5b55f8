import { useMutation, useQueryClient } from '@tanstack/react-query'
import { rotateUserToken } from '../../../contract/users.ts'
import type { AppError } from '../../../errors.ts'
import { client } from '../../api/client.ts'
import { signIn } from '../../api/session.ts'
import { Dialog } from '../../components/Dialog.tsx'
import { Problem } from '../../components/states.tsx'

/** Replaces the token of this session. The session ends with its token, so a new session is opened immediately. */
export function RotateDialog({ onMade, onClose }: { onMade: (token: string) => void; onClose: () => void }) {
  const queries = useQueryClient()
  const rotate = useMutation<void, AppError>({
    async mutationFn() {
      const { token } = await client.call(rotateUserToken, {})
      // Shown first: if the sign-in fails, the person still has the new token.
      onMade(token)
      await signIn({ token })
    },
    onSuccess: onClose,
    onSettled: () => void queries.invalidateQueries(),
  })
  return (
    <Dialog
      title="Rotate the token of this session?"
      onClose={onClose}
      onSubmit={() => rotate.mutate()}
      actions={
        <button type="submit" className="button danger" disabled={rotate.isPending}>
          {rotate.isPending ? 'Rotating…' : 'Rotate token'}
        </button>
      }
    >
      <ul className="effects">
        <li>The old token stops working immediately, wherever it is used.</li>
        <li>Other browsers that signed in with it are signed out. This one stays signed in.</li>
        <li>
          Replace the old token wherever it is stored: in agents, pipelines, and the file admin-token if this
          is the token that the installation created.
        </li>
        <li>The new token is shown once.</li>
      </ul>
      <Problem error={rotate.error} />
    </Dialog>
  )
}
