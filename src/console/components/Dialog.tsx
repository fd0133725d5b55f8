import { DialogDismiss, Dialog as Modal } from '@ariakit/react/dialog'
import { useId } from 'react'

interface Props {
  title: string
  onClose: () => void
  onSubmit: () => void
  /** Label of the button that only closes. */
  dismiss?: string
  children: React.ReactNode
  actions: React.ReactNode
}

/** A modal with a form: it keeps focus, closes on Escape and gives focus back. A click beside it loses no typed text. */
export function Dialog({ title, onClose, onSubmit, dismiss = 'Cancel', children, actions }: Props) {
  const heading = useId()
  return (
    <Modal
      open
      aria-labelledby={heading}
      onClose={onClose}
      className="dialog"
      backdrop={<div className="backdrop" />}
      hideOnInteractOutside={false}
    >
      <form
        onSubmit={(event) => {
          event.preventDefault()
          onSubmit()
        }}
      >
        <h2 id={heading}>{title}</h2>
        {children}
        <div className="dialog-actions">
          <DialogDismiss className="button">{dismiss}</DialogDismiss>
          {actions}
        </div>
      </form>
    </Modal>
  )
}
