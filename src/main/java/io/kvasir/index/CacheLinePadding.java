package io.kvasir.index;

/**
 * Padding of 128 bytes before the fields of a subclass: they share no cache line, and no pair of lines fetched
 * together, with those of another instance, however the objects are laid out.
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
