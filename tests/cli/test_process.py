"""What commands change in their process, and put back."""

import signal
import threading

import pytest

from nearsym.cli.process import set_up_torch, stop_on_signals


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_the_first_signal_is_a_request_and_the_second_means_now(number):
    with stop_on_signals() as stop_requested:
        assert not stop_requested()
        signal.raise_signal(number)
        assert stop_requested()
        with pytest.raises(KeyboardInterrupt):
            signal.raise_signal(number)


def test_handlers_are_put_back():
    before = [signal.getsignal(number) for number in (signal.SIGINT, signal.SIGTERM)]
    with stop_on_signals():
        assert signal.getsignal(signal.SIGTERM) not in before
    assert [signal.getsignal(number) for number in (signal.SIGINT, signal.SIGTERM)] == before


def test_in_another_thread_nothing_is_handled():
    before, found = signal.getsignal(signal.SIGINT), []

    def work():
        with stop_on_signals() as stop_requested:
            found.append((stop_requested(), signal.getsignal(signal.SIGINT)))

    thread = threading.Thread(target=work)
    thread.start()
    thread.join()
    assert found == [(False, before)]


def test_torch_gets_its_threads(monkeypatch):
    asked = []
    monkeypatch.setattr("torch.set_num_threads", asked.append)
    monkeypatch.setattr(
        "nearsym.training.allocator.keep_freed_memory", lambda: asked.append("kept")
    )
    set_up_torch(3)
    assert asked == [3, "kept"]
