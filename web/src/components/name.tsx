/** Short, unique label of a run or group, with the full name as a tooltip. */

export function Name({ name, label }: { name: string; label: string }) {
  return (
    <span className="name" title={name}>
      {label}
    </span>
  );
}
