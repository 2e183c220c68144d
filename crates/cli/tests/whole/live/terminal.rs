//! A terminal that nobody sees: tmux, which is asked for its screen until what is waited for is there.

use super::LONGEST_WAIT;
use std::path::Path;
use std::process::Command;
use std::time::{Duration, Instant};

/// A terminal that nobody sees, gone when dropped.
pub struct Terminal<'a> {
    directory: &'a Path,
}

impl<'a> Terminal<'a> {
    /// Runs a command of the shell on a terminal of that size; `None`, said why, where there is no tmux.
    pub fn new(directory: &'a Path, size: (u16, u16), command: &str) -> Option<Terminal<'a>> {
        if std::env::var_os("BANDSCOPE_TEST_RUNNER").is_some() {
            println!("SKIPPED: a terminal under an emulator tests the emulator");
            return None;
        }
        let terminal = Terminal { directory };
        let (width, height) = (size.0.to_string(), size.1.to_string());
        // The shell outlives the command: its screen is looked at when it has ended.
        let script = format!("{command}; echo \"ended with $?\"; cat");
        let mut start = terminal.tmux();
        start.args(["-f", "/dev/null", "new-session", "-d"]);
        start.args(["-x", &width, "-y", &height, &script]);
        match start.output() {
            Ok(output) if output.status.success() => Some(terminal),
            Ok(output) => {
                let error = String::from_utf8_lossy(&output.stderr).into_owned();
                println!("SKIPPED: tmux does not start: {}", error.trim());
                None
            }
            Err(error) => {
                println!("SKIPPED: no tmux ({error})");
                None
            }
        }
    }

    fn tmux(&self) -> Command {
        let mut tmux = Command::new("tmux");
        // A server of its own, whose socket lies beside what is tested.
        tmux.arg("-S").arg(self.directory.join("tmux"));
        tmux.env("LC_ALL", "C.UTF-8").env_remove("TMUX").arg("-u");
        tmux.current_dir(self.directory);
        tmux
    }

    pub fn ask(&self, arguments: &[&str]) -> String {
        let output = self.tmux().args(arguments).output().unwrap();
        String::from_utf8_lossy(&output.stdout).into_owned()
    }

    pub fn screen(&self) -> String {
        self.ask(&["capture-pane", "-p"])
    }

    /// The screen, once it is as wanted.
    pub fn wait(&self, what: &str, wanted: impl Fn(&str) -> bool) -> String {
        let start = Instant::now();
        loop {
            let screen = self.screen();
            if wanted(&screen) {
                return screen;
            }
            assert!(
                start.elapsed() < LONGEST_WAIT,
                "{what}: not there after {LONGEST_WAIT:?}:\n{screen}"
            );
            std::thread::sleep(Duration::from_millis(50));
        }
    }

    pub fn wait_for(&self, text: &str) -> String {
        self.wait(text, |screen| screen.contains(text))
    }

    pub fn keys(&self, keys: &[&str]) {
        self.ask(&[&["send-keys"], keys].concat());
    }

    pub fn resize(&self, width: u16, height: u16) {
        let (width, height) = (width.to_string(), height.to_string());
        self.ask(&["resize-window", "-x", &width, "-y", &height]);
    }

    /// Whether the program has the terminal for itself: its alternate screen.
    pub fn is_taken(&self) -> bool {
        self.ask(&["display-message", "-p", "#{alternate_on}"])
            .trim()
            == "1"
    }

    /// Whether keys come one by one, and unseen, as the terminal's own settings say.
    pub fn is_raw(&self) -> bool {
        let tty = self.ask(&["display-message", "-p", "#{pane_tty}"]);
        let output = Command::new("stty")
            .args(["-F", tty.trim(), "-a"])
            .output()
            .unwrap();
        String::from_utf8_lossy(&output.stdout).contains("-icanon")
    }
}

impl Drop for Terminal<'_> {
    fn drop(&mut self) {
        self.ask(&["kill-server"]);
    }
}
