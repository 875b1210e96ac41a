package io.kvasir.cell.view;

import io.kvasir.programs.ProgramListener;
import io.kvasir.programs.ProgramTurn;

/** Hands what a cell's guard reports to all cells' metrics, and to who releases what programs leave behind. */
record ProgramEvents(ProgramMetrics metrics, RetainedPrograms retained) implements ProgramListener {
  @Override
  public void returned(ProgramTurn turn, long gapMs) {
    metrics.returned(turn, gapMs);
  }

  @Override
  public void held() {
    metrics.held();
  }

  @Override
  public void paused() {
    metrics.paused();
  }

  @Override
  public void left(String program) {
    retained.left(program);
  }

  @Override
  public void forced() {
    metrics.forced();
  }
}
