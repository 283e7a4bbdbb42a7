"""The processes of a demonstration and their working folder."""

import pathlib
import shutil
import signal
import subprocess
import tempfile


class Processes:
    """Starts all processes, and ends each by its id."""

    def __init__(self, lapwing, prefix):
        self.lapwing = lapwing
        self.folder = pathlib.Path(tempfile.mkdtemp(prefix=prefix))
        self.running = []

    def start(self, name, *arguments, stdout=None):
        """Runs `lapwing ARGUMENT …`. The output goes to files with that name, or to `stdout`."""
        with open(self.folder / f"{name}.out", "wb") as out, open(self.folder / f"{name}.err", "wb") as err:
            process = subprocess.Popen([self.lapwing, *map(str, arguments)], stdin=subprocess.DEVNULL,
                                       stdout=out if stdout is None else stdout, stderr=err)
        self.running.append(process)
        return process

    def output(self, name):
        return (self.folder / f"{name}.out").read_text()

    def errors(self, name):
        return (self.folder / f"{name}.err").read_text()

    def end(self):
        for process in self.running:
            if process.poll() is None:
                process.send_signal(signal.SIGCONT)
                process.kill()
                process.wait()
        shutil.rmtree(self.folder, ignore_errors=True)
