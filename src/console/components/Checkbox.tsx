interface Props {
  checked: boolean
  set: (checked: boolean) => void
  disabled?: boolean
  className?: string
  children: React.ReactNode
}

export function Checkbox({ checked, set, disabled, className = '', children }: Props) {
  return (
    <label className={`check ${className}`.trim()}>
      <input
        type="checkbox"
        checked={checked}
        disabled={disabled}
        onChange={(event) => set(event.target.checked)}
      />
      {children}
    </label>
  )
}
