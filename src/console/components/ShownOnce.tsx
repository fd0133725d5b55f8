import { CopyBlock } from './CopyBlock.tsx'

/** A token that is shown once. It stays only in the memory of this page until the person closes it. */
export function ShownOnce({ title, token, onClose }: { title: string; token: string; onClose: () => void }) {
  return (
    <section className="note tone-ok stack" aria-label={title}>
      <strong>{title}</strong>
      <span>Copy it now: it is stored as a hash and cannot be shown again.</span>
      <CopyBlock label="Token" text={token} />
      <div className="row">
        <button type="button" className="button compact" onClick={onClose}>
          I have copied it
        </button>
      </div>
    </section>
  )
}
