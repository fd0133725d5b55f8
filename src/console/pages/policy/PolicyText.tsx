import { useRef, useState } from 'react'
import { type PolicyContent, updatePolicy } from '../../../contract/policy.ts'
import { useWrite } from '../../api/queries.ts'
import { FormProblem } from '../../components/FormProblem.tsx'
import { useForm } from '../../components/form.ts'
import { ResetButton } from '../../components/ResetButton.tsx'
import { toast } from '../../components/toasts.tsx'
import { useAccount } from '../../shell/account.ts'
import { type Format, type Marked, markedIn, placedProblem, policyText, readText } from './places.ts'

interface Props {
  content: PolicyContent
  revision: number
  /** Replays the text before it is saved. */
  onTry: (content: PolicyContent) => void
}

/** The whole policy as YAML or JSON; problems are shown with their line, which is selected. */
export function PolicyText({ content, revision, onTry }: Props) {
  const [format, setFormat] = useState<Format>('yaml')
  const { form, write, area, problem, setProblem, parsed, save } = usePolicyText(content, revision, format)
  const edited = form.edited.length > 0
  const attempt = () => {
    const policy = parsed()
    if (policy) onTry(policy)
  }
  return (
    <form
      className="panel"
      aria-label="As text"
      onSubmit={(event) => {
        event.preventDefault()
        save(form.since)
      }}
    >
      <header>
        <h2>As text</h2>
        <select
          aria-label="Format"
          value={format}
          disabled={edited}
          onChange={(event) => setFormat(event.target.value as Format)}
        >
          <option value="yaml">YAML</option>
          <option value="json">JSON</option>
        </select>
      </header>
      <div className="body stack">
        <TextArea
          area={area}
          problem={problem}
          text={form.values.text}
          set={(text) => {
            setProblem(null)
            form.set({ text })
          }}
        />
        <FormProblem
          form={form}
          write={problem ? { ...write, error: null } : write}
          labelOf={() => 'Policy as text'}
          save={save}
        />
        <div className="row">
          <button type="submit" className="button primary" disabled={write.isPending || !edited}>
            {write.isPending ? 'Saving…' : 'Save policy'}
          </button>
          <button type="button" className="button" onClick={attempt}>
            Try it on the last 7 days
          </button>
          <ResetButton form={form} write={write} />
        </div>
      </div>
    </form>
  )
}

function usePolicyText(content: PolicyContent, revision: number, format: Format) {
  const { accountId } = useAccount()
  const [problem, setProblem] = useState<Marked | null>(null)
  const area = useRef<HTMLTextAreaElement>(null)
  const write = useWrite(updatePolicy)
  const form = useForm({ id: 'policy text', stored: { text: policyText(content, format) }, revision })
  const show = (marked: Marked | null) => {
    setProblem(marked)
    if (!marked) return
    area.current?.focus()
    area.current?.setSelectionRange(marked.from, marked.to)
  }
  const parsed = (): PolicyContent | null => {
    const found = readText(form.values.text)
    if ('problem' in found) {
      show(found.problem)
      return null
    }
    setProblem(null)
    return { mode: content.mode, rules: [], freezes: [], budgets: [], ...found.content } as PolicyContent
  }
  const save = (expectedRevision: number) => {
    const policy = parsed()
    if (!policy) return
    write.mutate(
      { ...policy, accountId, expectedRevision },
      {
        onSuccess: ({ message }) => toast(message),
        onError(error) {
          const placed = placedProblem(error)
          show(placed && markedIn(form.values.text, placed))
        },
      },
    )
  }
  return { form, write, area, problem, setProblem, parsed, save }
}

interface AreaProps {
  area: React.RefObject<HTMLTextAreaElement | null>
  problem: Marked | null
  text: string
  set: (text: string) => void
}

function TextArea({ area, problem, text, set }: AreaProps) {
  return (
    <div className="field">
      <textarea
        ref={area}
        aria-label="Policy as text"
        aria-invalid={problem !== null}
        aria-describedby="policy-problem"
        className="policy-text"
        rows={Math.min(30, text.split('\n').length + 1)}
        spellCheck={false}
        value={text}
        onChange={(event) => set(event.target.value)}
      />
      <span id="policy-problem" role="alert" className={problem ? 'problem' : 'muted small'}>
        {problem && `Line ${problem.line}: ${problem.problem}`}
      </span>
    </div>
  )
}
