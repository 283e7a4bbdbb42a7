// A process that loads the package and ends.
import 'lapwing';
