package io.kvasir.cell.ways;

import io.kvasir.cell.ledger.Notice;
import io.kvasir.cell.ledger.OpenLoad;
import java.util.List;

/** What a node tells a cell's home of the requests it has there. */
interface Told {
  /** What has become of a reservation. */
  void notice(Notice notice);

  /** Loads that a home cannot know of, for one incarnation of it alone. */
  void declare(long incarnation, List<OpenLoad> loads);
}
