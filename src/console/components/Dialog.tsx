import { useId, useLayoutEffect, useRef } from 'react'

interface Props {
  title: string
  onClose: () => void
  onSubmit: () => void
  /** Label of the button that only closes. */
  dismiss?: string
  children: React.ReactNode
  actions: React.ReactNode
}

/** The platform's own modal: it traps focus, closes on Escape and gives focus back. */
export function Dialog({ title, onClose, onSubmit, dismiss = 'Cancel', children, actions }: Props) {
  const dialog = useRef<HTMLDialogElement>(null)
  const heading = useId()
  // Close it before React unmounts it, or the browser does not restore focus.
  useLayoutEffect(() => {
    const element = dialog.current
    if (element && !element.open) element.showModal()
    return () => element?.close()
  }, [])
  return (
    <dialog ref={dialog} aria-labelledby={heading} onCancel={onClose} onClose={onClose}>
      <form
        onSubmit={(event) => {
          event.preventDefault()
          onSubmit()
        }}
      >
        <h2 id={heading}>{title}</h2>
        {children}
        <div className="dialog-actions">
          <button type="button" className="button" onClick={onClose}>
            {dismiss}
          </button>
          {actions}
        </div>
      </form>
    </dialog>
  )
}
