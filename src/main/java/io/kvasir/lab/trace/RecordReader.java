package io.kvasir.lab.trace;

import java.util.List;

/** A reader of the JSON records of one file, in their order. */
interface RecordReader {
  /**
   * Adds the requests of a record.
   *
   * @throws IllegalArgumentException naming the line, the field and what was expected
   */
  void read(TraceRecord record, List<TraceLine> lines);
}
