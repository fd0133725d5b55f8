import { useRef, useState } from 'react'
import { ScrollArea } from './ScrollArea.tsx'

/** Text with a copy button. Without clipboard access, the button selects the text. */
export function CopyBlock({ label, text }: { label: string; text: string }) {
  const place = useRef<HTMLPreElement>(null)
  const [status, setStatus] = useState('')
  const copy = async () => {
    try {
      await navigator.clipboard.writeText(text)
      setStatus('Copied')
    } catch {
      if (place.current) getSelection()?.selectAllChildren(place.current)
      setStatus('Selected: press Ctrl+C or ⌘C')
    }
  }
  return (
    <div className="copy-block">
      <ScrollArea label={label}>
        <pre ref={place}>{text}</pre>
      </ScrollArea>
      <div className="row">
        <button type="button" className="button compact" onClick={copy}>
          Copy<span className="hidden-text"> {label}</span>
        </button>
        <span className="muted small" role="status">
          {status}
        </span>
      </div>
    </div>
  )
}
