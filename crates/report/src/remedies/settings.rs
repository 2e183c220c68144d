//! Settings of the running kernel and of its command line (`Documentation/admin-guide/sysctl` and `kernel-parameters.txt` of Linux).

use super::{Need, Purpose, Remedy, RemedyKind, by_value, quoted};

fn change(kind: RemedyKind, what: String) -> Remedy {
    Remedy {
        kind,
        purpose: Purpose::Fix,
        what,
        command: None,
        needs: vec![Need::Root],
        undo: None,
    }
}

/// Sets a parameter of the running kernel, such as `vm.stat_interval`, which is `was` now.
pub fn set_parameter(name: &str, value: &str, was: &str, what: &str) -> Remedy {
    let set = |value: &str| format!("sudo sysctl {name}={}", quoted(value));
    Remedy {
        command: Some(set(value)),
        undo: Some(set(was)),
        ..change(RemedyKind::SetParameter, what.to_owned())
    }
}

/// Writes files of sysfs or procfs, each with what it holds now; all of them the same value.
pub fn write_settings(settings: &[(String, &str)], value: &str, what: &str) -> Remedy {
    let set = |value: &str, paths: &[String]| {
        let files: Vec<String> = paths.iter().map(|path| quoted(path)).collect();
        format!("echo {} | sudo tee {}", quoted(value), files.join(" "))
    };
    let paths: Vec<String> = settings.iter().map(|one| one.0.clone()).collect();
    let undo = by_value(settings).into_iter();
    let undo: Vec<String> = undo.map(|(was, paths)| set(was, &paths)).collect();
    Remedy {
        command: Some(set(value, &paths)),
        undo: Some(undo.join("; ")),
        ..change(RemedyKind::WriteSetting, what.to_owned())
    }
}

/// One change after the other; put back the other way round.
pub fn both(first: Remedy, second: Remedy) -> Remedy {
    let joined = |one: Option<String>, other: Option<String>| Some(format!("{}; {}", one?, other?));
    Remedy {
        command: joined(first.command, second.command),
        undo: joined(second.undo, first.undo),
        ..first
    }
}

/// Boots with another parameter on the kernel's command line.
pub fn boot_with(parameter: &str, what: &str) -> Remedy {
    Remedy {
        needs: vec![Need::Root, Need::Boot],
        undo: Some("boot without it".to_owned()),
        ..change(
            RemedyKind::BootWith,
            format!("boot with `{parameter}` {what}"),
        )
    }
}

/// Stops a service of systemd.
pub fn stop_service(name: &str, what: &str) -> Remedy {
    let set = |verb: &str| format!("sudo systemctl {verb} {}", quoted(name));
    Remedy {
        command: Some(set("stop")),
        undo: Some(set("start")),
        ..change(RemedyKind::StopService, what.to_owned())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_set_is_put_back() {
        let remedy = set_parameter("vm.stat_interval", "120", "1", "x");
        assert_eq!(
            remedy.command.as_deref(),
            Some("sudo sysctl vm.stat_interval=120")
        );
        assert_eq!(
            remedy.undo.as_deref(),
            Some("sudo sysctl vm.stat_interval=1")
        );
        let files = [
            ("/sys/a".to_owned(), "schedutil"),
            ("/sys/b c".to_owned(), "power save"),
        ];
        let remedy = write_settings(&files, "performance", "x");
        assert_eq!(
            remedy.command.as_deref(),
            Some("echo performance | sudo tee /sys/a '/sys/b c'")
        );
        assert_eq!(
            remedy.undo.as_deref(),
            Some("echo 'power save' | sudo tee '/sys/b c'; echo schedutil | sudo tee /sys/a")
        );
        assert!(boot_with("skew_tick=1", "to x").needs.contains(&Need::Boot));
        assert_eq!(
            stop_service("irqbalance", "x").undo.as_deref(),
            Some("sudo systemctl start irqbalance")
        );
    }
}
