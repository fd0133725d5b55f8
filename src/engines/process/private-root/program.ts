/** The first words of every command in a private root: interpreter, program, system calls, mode and mount point. */
export const sharedWords = 5

/**
 * The program that makes a private root and runs a command in it: namespaces, mounts, pivot_root, then two processes of
 * its own, one outside that passes the exit code on, one inside that reaps orphans and ends all with the command.
 * Perl, because it makes system calls without a compiler and starts in a millisecond; `mount` and `unshare` take six.
 */
export const program = String.raw`# Arguments: system calls, mode, mount point, operations, --, working folder, command; with the word later they come by
# standard input, after their number, with the environment. Variables of the command are prefixed, so that none acts on this
# program. HOME is the folder of the container, by which its processes are found.
my ($calls, $mode, $new) = splice @ARGV, 0, 3;
my ($unshare, $mount, $umount, $pivot, $prctl, $capset, $sethostname) = split /,/, $calls;
my ($RDONLY, $NOSUID, $NODEV, $NOEXEC, $REMOUNT, $BIND, $PRIVATE) = (1, 2, 4, 8, 32, 4096, 0x44000);
my ($ENOENT, $EINTR) = (2, 4);

sub fail { my $why = $!; print STDERR "[cannot make the private root: $_[0]: $why]\n"; exit 125 }
sub call { my ($what, $number, @words) = @_; syscall($number, @words) == -1 and fail($what) }
# System calls take no constants of the program.
sub try_mount {
  my ($type, $from, $to, $flags, $data) = @_;
  syscall($mount, "$from", "$to", "$type", $flags + 0, "$data") == 0;
}
sub mounted { try_mount(@_) or fail("$_[0] $_[2]") }
sub bound {
  my ($from, $to, $flags) = @_;
  mounted('none', $from, $to, $BIND, '');
  mounted('none', 'none', $to, $BIND | $REMOUNT | $flags, '') if $flags;
}
sub folders { my $at = ''; for (split m{/+}, $_[0]) { next if $_ eq ''; $at .= "/$_"; mkdir $at, 0755 } }
sub write_file { my ($text, $to) = @_; open my $f, '>', $to or fail($to); syswrite $f, $text or fail($to); close $f }

umask 022;
$SIG{$_} = 'IGNORE' for qw(TERM HUP);

my ($uid, $gid) = ($>, $) + 0);
my ($namespaces, $user_namespace) = (0x2c020000, 0x10000000);
call('namespaces', $unshare, $mode eq 'user' ? $namespaces | $user_namespace : $namespaces);
if ($mode eq 'user') {
  write_file('deny', '/proc/self/setgroups');
  write_file("0 $uid 1", '/proc/self/uid_map');
  write_file("0 $gid 1", '/proc/self/gid_map');
}

my $init = fork;
defined $init or fail('fork');
if ($init) {
  close STDIN;
  $SIG{INT} = sub { kill INT => $init };
  1 while waitpid($init, 0) == -1 && $! == $EINTR;
  exit($? & 127 ? 128 + ($? & 127) : $? >> 8);
}

call('end with the parent', $prctl, 1, 9, 0, 0, 0);
mounted('none', 'none', '/', $PRIVATE, '');
if ($ARGV[0] eq 'later') {
  local $/;
  my ($count, @words) = split /\0/, <STDIN>, -1;
  exit 0 if !defined $count;
  open STDIN, '<', '/dev/null' or fail('/dev/null');
  @ARGV = splice @words, 0, $count;
  %ENV = @words;
}
my (@overlays, @binds, $host, $known_hosts);
while (defined(my $operation = shift)) {
  last if $operation eq '--';
  push @overlays, [splice @ARGV, 0, 4] if $operation eq 'overlay';
  push @binds, [splice @ARGV, 0, 3] if $operation eq 'bind';
  ($host, $known_hosts) = splice @ARGV, 0, 2 if $operation eq 'host';
}
my ($folder, @command) = @ARGV;
if (defined $host) {
  # Below the mount: a change of the lower file would copy it, which takes longer than all mounts.
  folders("$overlays[0][2]/etc");
  my $known = '';
  if (open my $hosts, '<', $known_hosts) { local $/; $known = <$hosts> }
  write_file("$known\n127.0.1.1\t$host\n", "$overlays[0][2]/etc/hosts");
}
for (@overlays) {
  my ($to, $lower, $upper, $work) = @$_;
  -d or folders($_) for $upper, $work;
  # A step and a second start mount the same folders again.
  my $incompatible = join '/', $work, 'work', 'incompat';
  unlink "$incompatible/volatile/dirty";
  rmdir "$incompatible/$_" for 'volatile', '';
  s/([\\,:])/\\$1/g for $upper, $work;
  my @options = ("lowerdir=$lower", "upperdir=$upper", "workdir=$work", $mode eq 'user' ? 'userxattr' : ());
  # Without syncs, which each first write to a file would cost: what a container writes ends with it or the machine.
  try_mount('overlay', 'overlay', "$new$to", $NODEV, join ',', @options, 'volatile')
    or mounted('overlay', 'overlay', "$new$to", $NODEV, join ',', @options);
}

# Sources are opened before the machine goes out of sight, targets are found after, so that links lead nowhere outside.
my @devices = map { ["/dev/$_", "/dev/$_", 'ro'] } qw(null zero full random urandom);
for (@devices, @binds) {
  my $handle;
  (-d $_->[0] ? opendir $handle, $_->[0] : open $handle, '<', $_->[0]) or fail($_->[0]);
  push @$_, $handle;
}
opendir my $old, '/' or fail('/');
chdir $new or fail($new);
call('pivot_root', $pivot, '.', '.');
mounted('proc', 'proc', '/proc', $NOSUID | $NODEV | $NOEXEC, '');
mounted('tmpfs', 'tmpfs', '/dev', $NOSUID, 'mode=755,size=64k');
mkdir "/dev/$_" for qw(pts shm);
mounted('devpts', 'devpts', '/dev/pts', $NOSUID | $NOEXEC, 'newinstance,ptmxmode=0666,mode=620');
mounted('tmpfs', 'tmpfs', '/dev/shm', $NOSUID | $NODEV, 'mode=1777');
symlink '/proc/self/fd', '/dev/fd';
symlink "/proc/self/fd/$_->[0]", "/dev/$_->[1]" for [0, 'stdin'], [1, 'stdout'], [2, 'stderr'];
symlink 'pts/ptmx', '/dev/ptmx';
for (@devices, @binds) {
  my ($from, $to, $access, $handle) = @$_;
  my $is_folder = -d $handle;
  if ($is_folder) { folders($to) } else { open my $made, '>>', $to or fail($to) }
  bound('/proc/self/fd/' . fileno($handle), $to, $access eq 'ro' ? $RDONLY | $NOSUID : $NODEV);
  $is_folder ? closedir $handle : close $handle;
}
for (grep { -e } map { "/proc/$_" } qw(sys sysrq-trigger irq bus fs acpi scsi)) {
  bound($_, $_, $RDONLY | $NOSUID | $NODEV | $NOEXEC);
}
bound('/dev/null', $_, $RDONLY | $NOSUID | $NOEXEC) for grep { -e } map { "/proc/$_" } qw(kcore keys timer_list sched_debug latency_stats);
chdir $old or fail('/');
call('leave the machine', $umount, '.', 2);
closedir $old;
chdir '/';
call('host name', $sethostname, "$host", length $host) if defined $host;

# What a container of the Docker engine keeps, and what installing packages needs.
my $kept = 0;
$kept |= 1 << $_ for 0, 1, 3, 4, 5, 6, 7, 10, 18, 31;
for (0 .. 63) { last if !($kept >> $_ & 1) && syscall($prctl, 24, $_, 0, 0, 0) == -1 }
call('privileges', $prctl, 38, 1, 0, 0, 0);
call('capabilities', $capset, pack('LL', 0x20080522, 0), pack('L6', $kept, $kept, 0, 0, 0, 0));

my $child = fork;
defined $child or fail('fork');
if (!$child) {
  my %inside = map { /^LS_IN_(.*)/s ? ($1 => $ENV{$_}) : () } keys %ENV;
  $inside{PORT} = $ENV{PORT} if defined $ENV{PORT};
  %ENV = %inside;
  $SIG{$_} = 'DEFAULT' for qw(TERM HUP INT);
  chdir $folder or folders($folder), chdir $folder or fail($folder);
  exec { $command[0] } @command;
  my $why = $!;
  print STDERR "[cannot start $command[0]: ", $why == $ENOENT ? 'not found in PATH' : 'not executable', "]\n";
  exit($why == $ENOENT ? 127 : 126);
}
$SIG{INT} = sub { kill INT => $child };
for (;;) {
  my $ended = waitpid -1, 0;
  exit($? & 127 ? 128 + ($? & 127) : $? >> 8) if $ended == $child;
  exit 125 if $ended == -1 && $! != $EINTR;
}
`
