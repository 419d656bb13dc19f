"""The command line, put together from `srdcr_lab.commands`."""

import gc
import signal
import sys
import threading

if threading.current_thread() is threading.main_thread():
    signal.signal(signal.SIGTERM, signal.default_int_handler)  # SIGTERM ends a run as Ctrl-C does

gc.set_threshold(100_000)  # modules and tables are a million objects that stay: looking for garbage among them is slow

try:
    import errno
    import io
    import os
    import traceback
    from pathlib import Path

    import click

    from srdcr_lab.commands import BAD_INPUT, DONE, ERROR_OF_OURS, RESUMABLE, SOME_FAILED, echo, study
    from srdcr_lab.commands.data import data
    from srdcr_lab.records import BadInput, SrdcrError, Stopped
except KeyboardInterrupt:  # nothing has begun
    print("srdcr: interrupted; run the same command again", file=sys.stderr)
    sys.exit(3)

_REFUSED = (errno.ENAMETOOLONG, errno.EISDIR, errno.ENOTDIR, errno.EACCES, errno.EPERM, errno.EROFS)  # for good
GUIDE = {  # page of docs/guide that explains what was refused, by the part of the package that refused it
    "data/perturbing": "false-passages", "data": "questions", "prompts": "prompts", "protocols": "methods",
    "models": "models", "study/asking": "models", "study/formats": "elsewhere",
    **dict.fromkeys(("models/batches", "study/waves", "study/cluster"), "scale"),
    **dict.fromkeys(("study/bundle", "study/exchange", "study/share"), "sharing"),
}  # fmt: skip


def main(arguments: list[str] | None = None) -> None:
    """Entry point of the console script; turns errors into one sentence and an exit code."""
    try:
        for stream in (sys.stdout, sys.stderr):
            if isinstance(stream, io.TextIOWrapper):
                stream.reconfigure(errors="replace")  # of a terminal that has no τ
        code = cli.main(args=arguments, prog_name="srdcr", standalone_mode=False)
    except SrdcrError as error:
        _complain(error)
        if isinstance(error, BadInput) and "docs/guide/" not in str(error):
            echo(f"more: {_page_of(error)}", err=True)
        code = BAD_INPUT if isinstance(error, BadInput) else RESUMABLE if isinstance(error, Stopped) else SOME_FAILED
    except click.exceptions.NoArgsIsHelpError as error:
        screen = Path(__file__).with_name("commands") / "first_screen.txt"
        echo(error.format_message() if error.ctx.parent else screen.read_text("utf-8").rstrip(), err=True)
        code = BAD_INPUT
    except click.ClickException as error:
        _complain(error.format_message())
        if isinstance(error, click.UsageError) and error.ctx:
            echo(f"more: {error.ctx.command_path} --help", err=True)
        code = BAD_INPUT
    except OSError as error:
        refused = error.errno in _REFUSED
        _complain(f"{error}; {'give another path' if refused else 'fix that and run the same command again to resume'}")
        code = BAD_INPUT if refused else RESUMABLE
    except (click.Abort, KeyboardInterrupt):
        _complain("interrupted; run the same command again to resume")
        code = RESUMABLE
    except Exception:  # exit code 70, so that a script does not take it for a finished run
        echo(traceback.format_exc(), err=True)
        _complain("this is an error in srdcr_lab and not in your input; please report it with the lines above")
        code = ERROR_OF_OURS
    if arguments is None:  # the process ends here, with this code, also where it is interrupted once more
        for number in (signal.SIGINT, signal.SIGTERM):
            signal.signal(number, lambda *_: os._exit(code or DONE))
        gc.freeze()  # with torch, to look for garbage at the very end takes a second
    sys.exit(code or DONE)


def _complain(sentence: object) -> None:
    """One sentence, bounded as those of `SrdcrError` are."""
    echo(f"srdcr: {SrdcrError(sentence)}", err=True)


def _page_of(error: BaseException) -> str:
    """The page for the innermost part of the package that has one."""
    package, page = Path(__file__).parent, "index"
    for frame, _ in traceback.walk_tb(error.__traceback__):
        file = Path(frame.f_code.co_filename)
        if file.is_relative_to(package):
            place = file.relative_to(package).with_suffix("")
            page = GUIDE.get(place.as_posix(), GUIDE.get(place.parts[0], page))
    return f"docs/guide/{page}.md"


_CODES = "Exit codes: 0 done; 1 done, some rows failed; 2 bad input; 3 stopped, can be resumed; 70 an error of ours."


@click.group(context_settings={"max_content_width": 120}, epilog=_CODES)
@click.version_option(package_name="srdcr-lab")
def cli() -> None:
    """When should a language model believe the passage it is given, and when its own memory?"""


for command in (data, study.plan, study.run, study.doctor, study.requests, study.store, study.notebooks, study.report,
                study.share_run, study.replay_bundle, study.export_results, study.import_results):  # fmt: skip
    cli.add_command(command)


if __name__ == "__main__":
    main()
