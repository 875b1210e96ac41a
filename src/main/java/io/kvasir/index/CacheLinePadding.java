package io.kvasir.index;

/**
 * 128 bytes before the fields of whoever extends it: what its writers change shares no cache line, and
 * no pair of lines fetched together, with a neighbour of the same kind, however the objects are laid.
 */
abstract class CacheLinePadding {
  long pad00;
  long pad01;
  long pad02;
  long pad03;
  long pad04;
  long pad05;
  long pad06;
  long pad07;
  long pad08;
  long pad09;
  long pad10;
  long pad11;
  long pad12;
  long pad13;
  long pad14;
  long pad15;
}
